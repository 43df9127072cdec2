(** Three cases of the proof of Theorem 6.2 as tods21 prints them, refuted by computation on their smallest streams (see
    docs/errata.md). Event types and variables are numbers: A is 0, B is 1. An event is its type. *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Exec.

Notation cea := (cea nat nat).
Notation marks := (marks nat).
Notation formula := (formula nat nat).
Definition compiled : formula -> cea := compile nat nat Nat.eq_dec (fun e => e).
Definition meant : formula -> list nat -> list (word nat nat) := exec nat nat Nat.eq_dec (fun e => e).

(** The words of some events that an automaton accepts. *)
Fixpoint accepted_from (A : cea) (q : Q nat nat A) (es : list nat) : list (word nat nat) :=
  match es with
  | [] => if final nat nat A q then [[]] else []
  | e :: es => flat_map (fun t => map (cons (e, fst t)) (accepted_from A (snd t) es)) (step nat nat A q e)
  end.

Definition accepted (A : cea) (es : list nat) : list (word nat nat) :=
  flat_map (fun q => accepted_from A q es) (initial nat nat A).

(** The positions that are marked. *)
Definition positions (ws : list (word nat nat)) : list (list nat) :=
  map (fun w => map fst (filter (fun p => snd p) (combine (seq 0 (length w)) (shape nat nat w)))) ws.

(** phi:+ as printed: no step leads from the state between two rounds to itself. *)
Definition printed_contiguous_iterate (A : cea) : cea :=
  let onwards ts := retarget nat Some ts ++ bridges nat (final nat nat A) [None] (filter (is_marked nat) ts) in {|
  Q := option (Q nat nat A);
  initial := map Some (initial nat nat A);
  final := fun q => match q with Some p => final nat nat A p | None => false end;
  step := fun q e => match q with
    | Some p => onwards (step nat nat A p e)
    | None => retarget nat Some (filter (is_marked nat) (starting nat nat A e))
    end
|}.

Definition a : formula := Event nat nat 0.
Definition b : formula := Event nat nat 1.

Example a_third_round : positions (meant (ContiguousPlus nat nat a) [0; 0; 0]) = [[2]; [0; 1; 2]; [1; 2]].
Proof. reflexivity. Qed.

Example is_not_printed : positions (accepted (printed_contiguous_iterate (compiled a)) [0; 0; 0]) = [[2]; [1; 2]].
Proof. reflexivity. Qed.

Example is_compiled :
  positions (accepted (compiled (ContiguousPlus nat nat a)) [0; 0; 0]) = [[2]; [1; 2]; [0; 1; 2]].
Proof. reflexivity. Qed.

(** phi1 UNLESS phi2 as printed: phi2 is looked for on the whole interval only. *)
Definition printed_unless (A B : cea) : cea := {|
  Q := Q nat nat A * list (Q nat nat B);
  initial := map (fun p => (p, initial nat nat B)) (initial nat nat A);
  final := fun q => final nat nat A (fst q) && negb (existsb (final nat nat B) (snd q));
  step := fun q e => map (fun t => (fst t, (snd t, flat_map (fun r => map snd (step nat nat B r e)) (snd q))))
                         (step nat nat A (fst q) e)
|}.

Example unless_an_earlier_b : positions (meant (Unless nat nat a b) [1; 0]) = [].
Proof. reflexivity. Qed.

Example is_not_printed_either : positions (accepted (printed_unless (compiled a) (compiled b)) [1; 0]) = [[1]].
Proof. reflexivity. Qed.

Example is_compiled_too : positions (accepted (compiled (Unless nat nat a b)) [1; 0]) = [].
Proof. reflexivity. Qed.

(** phi1 ALL phi2 as printed: one operand moves alone while the other is in an initial or a final state; nothing can lie
    between the two. First copies are made, so that nothing leads to initial states or away from final ones. *)
Inductive copied (T : Type) := First (q : T) | Middle (q : T) | Final (q : T).
Arguments First {T} q. Arguments Middle {T} q. Arguments Final {T} q.

Definition copies (A : cea) : cea :=
  let steps p e := retarget nat Middle (step nat nat A p e) ++
    flat_map (fun t => if final nat nat A (snd t) then [(fst t, Final (snd t))] else []) (step nat nat A p e) in {|
  Q := copied (Q nat nat A);
  initial := map First (initial nat nat A);
  final := fun q => match q with Final _ => true | _ => false end;
  step := fun q e => match q with First p | Middle p => steps p e | Final _ => [] end
|}.

Definition at_end {T : Type} (q : copied T) : bool := match q with Middle _ => false | _ => true end.

Definition printed_interleaving (A B : cea) : cea := {|
  Q := copied (Q nat nat A) * copied (Q nat nat B);
  initial := list_prod (initial nat nat (copies A)) (initial nat nat (copies B));
  final := fun q => final nat nat (copies A) (fst q) && final nat nat (copies B) (snd q);
  step := fun q e =>
    let left := step nat nat (copies A) (fst q) e in
    let right := step nat nat (copies B) (snd q) e in
    flat_map (fun t => map (fun u => (fst t ++ fst u, (snd t, snd u))) right) left
    ++ (if at_end (fst q) then map (fun u => (fst u, (fst q, snd u))) right else [])
    ++ (if at_end (snd q) then map (fun t => (fst t, (snd t, snd q))) left else [])
|}.

Definition anchored : formula := All nat nat a (Start nat nat b).
Definition once (xs : list (list nat)) := nodup (list_eq_dec Nat.eq_dec) xs.

Example something_lies_between : once (positions (meant anchored [0; 0; 1])) = [[0; 2]; [1; 2]].
Proof. reflexivity. Qed.

Example nothing_does_as_printed :
  once (positions (accepted (printed_interleaving (compiled a) (compiled (Start nat nat b))) [0; 0; 1])) = [[1; 2]].
Proof. reflexivity. Qed.

Example it_does_as_compiled : once (positions (accepted (compiled anchored) [0; 0; 1])) = [[1; 2]; [0; 2]].
Proof. reflexivity. Qed.
