(** The meaning of CEL as sets of words: an interval of a stream whose positions carry their variables.

    A letter is an event and the variables that are bound to it; a word is an interval with a valuation. Sequencing is
    the concatenation of words, so that automata can be built operator by operator (Compile.v). That the words of a
    formula are its valuations is shown in Bridge.v. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel.

Section Words.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation condition := (condition event var).

Definition marks := list var.
Definition letter := (event * marks)%type.
Definition word := list letter.
Definition words := word -> Prop.

(** Marks are sets: the same variables, in any order. *)
Definition eqm (L M : marks) : Prop := forall A, In A L <-> In A M.
Definition eql (a b : letter) : Prop := fst a = fst b /\ eqm (snd a) (snd b).
Definition eqw : word -> word -> Prop := Forall2 eql.

Definition unmarked (a : letter) : Prop := snd a = [].
Definition marked (a : letter) : Prop := snd a <> [].

Definition remark (f : marks -> marks) (w : word) : word := map (fun a => (fst a, f (snd a))) w.

Definition in_marks (A : var) (L : marks) : marks :=
  match L with [] => [] | _ => A :: L end.

Definition has (A : var) (L : marks) : bool := if in_dec var_dec A L then true else false.

Lemma has_spec A L : has A L = true <-> In A L.
Proof. unfold has; destruct (in_dec var_dec A L); split; auto; discriminate. Qed.

Definition keep (K : list var) (L : marks) : marks := filter (fun A => has A K) L.

Fixpoint passes (c : condition) (w : word) : Prop :=
  match c with
  | Every _ _ A P => Forall (fun a => In A (snd a) -> P (fst a) = true) w
  | Conjunction _ _ c1 c2 => passes c1 w /\ passes c2 w
  | Disjunction _ _ c1 c2 => passes c1 w \/ passes c2 w
  end.

Definition seqw (D1 D2 : words) : words := fun w =>
  exists u v, D1 u /\ D2 v /\ w = u ++ v.

Definition cseqw (D1 D2 : words) : words := fun w =>
  exists u a b v, D1 (u ++ [a]) /\ D2 (b :: v) /\ marked a /\ marked b /\ w = (u ++ [a]) ++ (b :: v).

Fixpoint roundsw (join : words -> words -> words) (D : words) (n : nat) : words :=
  match n with
  | 0 => D
  | S n => join D (roundsw join D n)
  end.

(** w is u, and v beside it, where one of them may begin later and one may end earlier (ALL). *)
Definition blank (es : list event) : word := map (fun e => (e, [])) es.
Definition events (w : word) : list event := map fst w.

Fixpoint zip (u v : word) : word :=
  match u, v with
  | a :: u', b :: v' => (fst a, snd a ++ snd b) :: zip u' v'
  | _, _ => []
  end.

Definition padded (D : words) : words := fun w =>
  exists es u fs, D u /\ w = blank es ++ u ++ blank fs.

(** [padded] with no padding on the left, on the right. *)
Definition padded_by (before after : bool) (D : words) : words := fun w =>
  exists es u fs, D u /\ w = blank es ++ u ++ blank fs /\ (before = false -> es = []) /\ (after = false -> fs = []).

Definition allw (D1 D2 : words) : words := fun w =>
  exists u v b1 a1 b2 a2, padded_by b1 a1 D1 u /\ padded_by b2 a2 D2 v /\ (b1 && b2 = false) /\ (a1 && a2 = false)
    /\ events u = events v /\ w = zip u v.

Definition inside (D : words) (es : list event) : Prop :=
  exists u w v, D w /\ es = u ++ events w ++ v.

(** Which letters of a word are marked: its complex event. *)
Definition is_marked (a : letter) : bool := match snd a with [] => false | _ => true end.
Definition shape (w : word) : list bool := map is_marked w.

(** The shape r is better than s, both of one length: NXT, the first position in which they differ is marked in r. *)
Fixpoint next_better (s r : list bool) : bool :=
  match s, r with
  | x :: s, y :: r => if Bool.eqb x y then next_better s r else y
  | _, _ => false
  end.

(** LAST: the last position in which they differ is marked in r; before gives the answer for what comes before. *)
Fixpoint last_better (before : bool) (s r : list bool) : bool :=
  match s, r with
  | x :: s, y :: r => last_better (if Bool.eqb x y then before else y) s r
  | _, _ => before
  end.

(** MAX: all of s is marked in r, and something more; before says whether something more has come before. *)
Fixpoint max_better (before : bool) (s r : list bool) : bool :=
  match s, r with
  | x :: s, y :: r => if x && negb y then false else max_better (before || (y && negb x)) s r
  | _, _ => before
  end.

Definition best (better : list bool -> list bool -> bool) (D : words) : words := fun w =>
  D w /\ forall u, D u -> events u = events w -> better (shape w) (shape u) = false.

(** No unmarked letter stands between two marked ones. *)
Definition contiguous_marks (w : word) : Prop :=
  exists x y z, w = x ++ y ++ z /\ Forall unmarked x /\ Forall marked y /\ Forall unmarked z.

(** The words of a formula. Each has at least one letter. *)
Fixpoint lang (phi : formula) : words := fun w =>
  match phi with
  | Event _ _ R => exists es e, w = blank es ++ [(e, [R])] /\ type_of e = R
  | In_ _ _ psi A => exists u, lang psi u /\ w = remark (in_marks A) u
  | Filter _ _ psi c => lang psi w /\ passes c w
  | Seq _ _ phi1 phi2 => seqw (lang phi1) (lang phi2) w
  | Plus _ _ psi => exists n, roundsw seqw (lang psi) n w
  | ContiguousSeq _ _ phi1 phi2 => cseqw (lang phi1) (lang phi2) w
  | ContiguousPlus _ _ psi => exists n, roundsw cseqw (lang psi) n w
  | Project _ _ K psi => exists u, lang psi u /\ w = remark (keep K) u
  | Start _ _ psi => lang psi w /\ exists a u, w = a :: u /\ marked a
  | Or _ _ phi1 phi2 => lang phi1 w \/ lang phi2 w
  | And _ _ phi1 phi2 => lang phi1 w /\ exists u, lang phi2 u /\ eqw w u
  | All _ _ phi1 phi2 => allw (lang phi1) (lang phi2) w
  | Unless _ _ phi1 phi2 => lang phi1 w /\ ~ inside (lang phi2) (events w)
  | Strict _ _ psi => lang psi w /\ contiguous_marks w
  | Next _ _ psi => best next_better (lang psi) w
  | Last _ _ psi => best (last_better false) (lang psi) w
  | Max _ _ psi => best (max_better false) (lang psi) w
  end.

End Words.

Arguments has : simpl never.
