(* Reads formulas and streams in prefix form, one question on a line, and prints the matches by the extracted definition.

   A line holds words separated by single spaces: the formula, then the events, each as TYPE and a string of the digits 0
   and 1, which say what atomic predicates hold of the event. The answer is a line of words p/V=p,q/... : a position, and
   the positions of each variable that a valuation binds. engine.py writes the questions. *)

open Cel

type event = { kind : string; holds : string }

let rec formula words =
  match words with
  | "event" :: r :: rest -> (Event r, rest)
  | "in" :: a :: rest -> let psi, rest = formula rest in (In_ (psi, a), rest)
  | "filter" :: rest ->
    let c, rest = condition rest in
    let psi, rest = formula rest in
    (Filter (psi, c), rest)
  | "project" :: names :: rest ->
    let psi, rest = formula rest in
    (Project (List.filter (fun name -> name <> "") (String.split_on_char ',' names), psi), rest)
  | name :: rest ->
    let psi, rest = formula rest in
    let one make = (make psi, rest) in
    let two make = let phi2, rest = formula rest in (make psi phi2, rest) in
    (match name with
     | "plus" -> one (fun psi -> Plus psi)
     | "cplus" -> one (fun psi -> ContiguousPlus psi)
     | "start" -> one (fun psi -> Start psi)
     | "strict" -> one (fun psi -> Strict psi)
     | "nxt" -> one (fun psi -> Next psi)
     | "last" -> one (fun psi -> Last psi)
     | "max" -> one (fun psi -> Max psi)
     | "seq" -> two (fun a b -> Seq (a, b))
     | "cseq" -> two (fun a b -> ContiguousSeq (a, b))
     | "or" -> two (fun a b -> Or (a, b))
     | "and" -> two (fun a b -> And (a, b))
     | "all" -> two (fun a b -> All (a, b))
     | "unless" -> two (fun a b -> Unless (a, b))
     | _ -> failwith ("no operator " ^ name))
  | [] -> failwith "the formula is cut off"

and condition words =
  match words with
  | "every" :: a :: k :: rest -> let k = int_of_string k in (Every (a, fun e -> e.holds.[k] = '1'), rest)
  | ("both" | "either") as name :: rest ->
    let c1, rest = condition rest in
    let c2, rest = condition rest in
    ((if name = "both" then Conjunction (c1, c2) else Disjunction (c1, c2)), rest)
  | _ -> failwith "no condition"

let rec events = function
  | kind :: holds :: rest -> { kind; holds } :: events rest
  | _ -> []

(* The variables that are bound, each with its positions, sorted. *)
let valuation word =
  let pairs = List.concat (List.mapi (fun p (_, marks) -> List.map (fun a -> (a, p)) marks) word) in
  let pairs = List.sort_uniq compare pairs in
  List.sort_uniq compare (List.map fst pairs)
  |> List.map (fun a -> a ^ "=" ^ String.concat "," (List.filter_map (fun (b, p) -> if a = b then Some (string_of_int p) else None) pairs))
  |> String.concat "/"

let answer line =
  let phi, rest = formula (String.split_on_char ' ' line) in
  let es = events rest in
  let prefix n = List.filteri (fun i _ -> i <= n) es in
  List.concat (List.mapi (fun n _ ->
      exec (fun a b -> (a : string) = b) (fun e -> e.kind) phi (prefix n)
      |> List.map valuation |> List.sort_uniq compare |> List.map (fun mu -> string_of_int n ^ "/" ^ mu)) es)
  |> String.concat " "

let () =
  try
    while true do
      print_endline (answer (read_line ()))
    done
  with End_of_file -> ()
