(** Complex event automata and the compiler of automata/cea/compile.py: tods21, Definition 5.1, Theorem 6.2 with the
    corrected cases of :+, ALL and UNLESS, and Theorem 7.2.

    A transition relation is given by the steps from a state on an event: the marks, and the next state. A predicate on
    a transition is what makes the step depend on the event. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words.

Section Compile.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation marks := (marks var).
Notation word := (word event var).

Record cea := {
  Q : Type;
  initial : list Q;
  final : Q -> bool;
  step : Q -> event -> list (marks * Q)
}.

(** A run from a state over a word that ends in a final state. *)
Fixpoint runs (A : cea) (q : Q A) (w : word) : Prop :=
  match w with
  | [] => final A q = true
  | (e, L) :: w => exists q', In (L, q') (step A q e) /\ runs A q' w
  end.

Definition accepts (A : cea) (w : word) : Prop := exists q, In q (initial A) /\ runs A q w.

(** No initial state is final: no automaton of the compiler accepts the empty word. *)
Definition proper (A : cea) : Prop := forall q, In q (initial A) -> final A q = false.

Definition is_marked {T : Type} (t : marks * T) : bool := match fst t with [] => false | _ => true end.

Definition retarget {T U : Type} (f : T -> U) (ts : list (marks * T)) : list (marks * U) :=
  map (fun t => (fst t, f (snd t))) ts.

(** The steps into a final state, which lead to each of some other states instead. *)
Definition bridges {T U : Type} (fin : T -> bool) (to : list U) (ts : list (marks * T)) : list (marks * U) :=
  flat_map (fun t => if fin (snd t) then map (fun q => (fst t, q)) to else []) ts.

Definition starting (A : cea) (e : event) : list (marks * Q A) := flat_map (fun q => step A q e) (initial A).

(* --- the cases ---------------------------------------------------------------------------------------------------- *)

(** Figure 5: skip anything, then mark one event of type R. *)
Definition event_cea (R : var) : cea := {|
  Q := bool;
  initial := [false];
  final := fun q => q;
  step := fun q e => if q then [] else ([], false) :: (if var_dec (type_of e) R then [([R], true)] else [])
|}.

Definition remarked (f : marks -> marks) (A : cea) : cea := {|
  Q := Q A;
  initial := initial A;
  final := final A;
  step := fun q e => map (fun t => (f (fst t), snd t)) (step A q e)
|}.

(** FILTER with one atom: an event marked with the variable satisfies the predicate. *)
Definition filter_cea (X : var) (P : event -> bool) (A : cea) : cea := {|
  Q := Q A;
  initial := initial A;
  final := final A;
  step := fun q e => filter (fun t => if has var var_dec X (fst t) then P e else true) (step A q e)
|}.

Definition union_cea (A B : cea) : cea := {|
  Q := Q A + Q B;
  initial := map inl (initial A) ++ map inr (initial B);
  final := fun q => match q with inl p => final A p | inr p => final B p end;
  step := fun q e => match q with
    | inl p => retarget inl (step A p e)
    | inr p => retarget inr (step B p e)
    end
|}.

Fixpoint filtered (c : condition event var) (A : cea) : cea :=
  match c with
  | Every _ _ X P => filter_cea X P A
  | Conjunction _ _ c1 c2 => filtered c2 (filtered c1 A)
  | Disjunction _ _ c1 c2 => union_cea (filtered c1 A) (filtered c2 A)
  end.

(** A step into a final state of A may lead to where B starts instead. *)
Definition sequence_cea (A B : cea) : cea := {|
  Q := Q A + Q B;
  initial := map inl (initial A);
  final := fun q => match q with inl _ => false | inr p => final B p end;
  step := fun q e => match q with
    | inl p => retarget inl (step A p e) ++ bridges (final A) (map inr (initial B)) (step A p e)
    | inr p => retarget inr (step B p e)
    end
|}.

(** A step into a final state may lead back to the start. *)
Definition iterate_cea (A : cea) : cea := {|
  Q := Q A;
  initial := initial A;
  final := final A;
  step := fun q e => step A q e ++ bridges (final A) (initial A) (step A q e)
|}.

(** A and B meet in a fresh state, inr None, which is entered and left by marking only. *)
Definition contiguous_sequence_cea (A B : cea) : cea := {|
  Q := Q A + option (Q B);
  initial := map inl (initial A);
  final := fun q => match q with inr (Some p) => final B p | _ => false end;
  step := fun q e => match q with
    | inl p => retarget inl (step A p e) ++ bridges (final A) [inr None] (filter is_marked (step A p e))
    | inr None => retarget (fun p => inr (Some p)) (filter is_marked (starting B e))
    | inr (Some p) => retarget (fun p => inr (Some p)) (step B p e)
    end
|}.

(** The rounds meet in a fresh state, None, which is entered and left by marking only; a round of one event leads from it
    to itself, which the printed construction lacks. *)
Definition contiguous_iterate_cea (A : cea) : cea :=
  let onwards ts := retarget Some ts ++ bridges (final A) [None] (filter is_marked ts) in {|
  Q := option (Q A);
  initial := map Some (initial A);
  final := fun q => match q with Some p => final A p | None => false end;
  step := fun q e => match q with
    | Some p => onwards (step A p e)
    | None => onwards (filter is_marked (starting A e))
    end
|}.

(** START: from a fresh initial state, the first step marks. *)
Definition start_cea (A : cea) : cea := {|
  Q := option (Q A);
  initial := [None];
  final := fun q => match q with Some p => final A p | None => false end;
  step := fun q e => match q with
    | Some p => retarget Some (step A p e)
    | None => retarget Some (filter is_marked (starting A e))
    end
|}.

Definition subset_of (L M : marks) : bool := forallb (fun x => has var var_dec x M) L.
Definition same_marks (L M : marks) : bool := subset_of L M && subset_of M L.

(** AND: both make the same marks. *)
Definition conjunction_cea (A B : cea) : cea := {|
  Q := Q A * Q B;
  initial := list_prod (initial A) (initial B);
  final := fun q => final A (fst q) && final B (snd q);
  step := fun q e =>
    flat_map (fun t => flat_map (fun u => if same_marks (fst t) (fst u) then [(fst t, (snd t, snd u))] else [])
                                (step B (snd q) e)) (step A (fst q) e)
|}.

(** An operand of ALL waits before its run and rests after it. *)
Inductive resting (T : Type) : Type := Wait | At (q : T) | Done.
Arguments Wait {T}. Arguments At {T} q. Arguments Done {T}.

Definition rest_step (A : cea) (q : resting (Q A)) (e : event) : list (marks * resting (Q A)) :=
  match q with
  | Wait => ([], Wait) :: map (fun p => ([], At p)) (initial A)
  | At p => retarget At (step A p e) ++ (if final A p then [([], Done)] else [])
  | Done => [([], Done)]
  end.

Definition ended (A : cea) (q : resting (Q A)) : bool :=
  match q with Wait => false | At p => final A p | Done => true end.
Definition ending (A : cea) (q : resting (Q A)) : bool :=
  match q with At p => final A p | _ => false end.

(** ALL: each makes its run on an interval of its own; one of them begins at the start, one ends at the end. *)
Definition interleaving_cea (A B : cea) : cea := {|
  Q := resting (Q A) * resting (Q B);
  initial := list_prod (map At (initial A)) (map At (initial B))
    ++ map (fun q => (Wait, At q)) (initial B) ++ map (fun p => (At p, Wait)) (initial A);
  final := fun q => (ending A (fst q) && ended B (snd q)) || (ending B (snd q) && ended A (fst q));
  step := fun q e =>
    flat_map (fun t => map (fun u => (fst t ++ fst u, (snd t, snd u))) (rest_step B (snd q) e)) (rest_step A (fst q) e)
|}.

(** The deterministic automaton of the intervals inside which B has a match: whether one has ended, and where the runs
    are that have begun. *)
Definition guard_step (B : cea) (g : bool * list (Q B)) (e : event) : bool * list (Q B) :=
  let next := flat_map (fun q => map snd (step B q e)) (snd g ++ initial B) in
  (fst g || existsb (final B) next, next).

(** UNLESS: what A has on an interval if B has nothing on any interval inside. *)
Definition unless_cea (A B : cea) : cea := {|
  Q := Q A * (bool * list (Q B));
  initial := map (fun p => (p, (false, []))) (initial A);
  final := fun q => final A (fst q) && negb (fst (snd q));
  step := fun q e => retarget (fun p => (p, guard_step B (snd q) e)) (step A (fst q) e)
|}.

(** STRICT: the marks of a run follow each other; true, nothing has been marked yet; Some true, the last event was. *)
Definition strict_step (phase : option bool) (m : bool) : list (option bool) :=
  match phase, m with
  | None, false => [None]                 (* before the first mark *)
  | None, true | Some true, true => [Some true]
  | Some _, false => [Some false]         (* after the last mark *)
  | Some false, true => []
  end.

Definition strict_cea (A : cea) : cea := {|
  Q := Q A * option bool;
  initial := map (fun q => (q, None)) (initial A);
  final := fun q => final A (fst q);
  step := fun q e =>
    flat_map (fun t => map (fun phase => (fst t, (snd t, phase))) (strict_step (snd q) (is_marked t))) (step A (fst q) e)
|}.

(** The strategies that compare: beside a run, the states that other runs are in, each with what is known of how the two
    compare. T is that knowledge; [compare t x y] is what it becomes when this run marks (x) or not and the other marks
    (y) or not, None if the other can no longer be better; [better t] says that the other is better by now. *)
Record comparison := {
  T : Type;
  start : T;
  compare : T -> bool -> bool -> option T;
  better : T -> bool
}.

Definition rivals (c : comparison) (A : cea) (R : list (T c * Q A)) (x : bool) (e : event) : list (T c * Q A) :=
  flat_map (fun r => flat_map (fun t => match compare c (fst r) x (is_marked t) with
                                        | Some k => [(k, snd t)]
                                        | None => []
                                        end) (step A (snd r) e)) R.

Definition best_cea (c : comparison) (A : cea) : cea := {|
  Q := Q A * list (T c * Q A);
  initial := map (fun q => (q, map (fun r => (start c, r)) (initial A))) (initial A);
  final := fun q => final A (fst q) && negb (existsb (fun r => better c (fst r) && final A (snd r)) (snd q));
  step := fun q e => map (fun t => (fst t, (snd t, rivals c A (snd q) (is_marked t) e))) (step A (fst q) e)
|}.

(** NXT: false as long as the two are equal; true from the first difference on, if the other marks there. *)
Definition next_comparison : comparison := {|
  T := bool;
  start := false;
  compare := fun t x y => if t then Some true else if Bool.eqb x y then Some false else if y then Some true else None;
  better := fun t => t
|}.

(** LAST: whether the other has the mark at the last difference so far. *)
Definition last_comparison : comparison := {|
  T := bool;
  start := false;
  compare := fun t x y => Some (if Bool.eqb x y then t else y);
  better := fun t => t
|}.

(** MAX: whether the other has a mark that this one lacks; it must have all that this one has. *)
Definition max_comparison : comparison := {|
  T := bool;
  start := false;
  compare := fun t x y => if x && negb y then None else Some (t || (y && negb x));
  better := fun t => t
|}.

Fixpoint compile (phi : formula) : cea :=
  match phi with
  | Event _ _ R => event_cea R
  | In_ _ _ psi X => remarked (in_marks var X) (compile psi)
  | Filter _ _ psi c => filtered c (compile psi)
  | Seq _ _ phi1 phi2 => sequence_cea (compile phi1) (compile phi2)
  | Plus _ _ psi => iterate_cea (compile psi)
  | ContiguousSeq _ _ phi1 phi2 => contiguous_sequence_cea (compile phi1) (compile phi2)
  | ContiguousPlus _ _ psi => contiguous_iterate_cea (compile psi)
  | Project _ _ K psi => remarked (keep var var_dec K) (compile psi)
  | Start _ _ psi => start_cea (compile psi)
  | Or _ _ phi1 phi2 => union_cea (compile phi1) (compile phi2)
  | And _ _ phi1 phi2 => conjunction_cea (compile phi1) (compile phi2)
  | All _ _ phi1 phi2 => interleaving_cea (compile phi1) (compile phi2)
  | Unless _ _ phi1 phi2 => unless_cea (compile phi1) (compile phi2)
  | Strict _ _ psi => strict_cea (compile psi)
  | Next _ _ psi => best_cea next_comparison (compile psi)
  | Last _ _ psi => best_cea last_comparison (compile psi)
  | Max _ _ psi => best_cea max_comparison (compile psi)
  end.

End Compile.
