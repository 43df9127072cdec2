(** SASE+ without negation and composition: the accepting runs of a query's automaton (sase07, section 3 and appendix A) have
    the buffers that the declarative definition (section 2.2; semantics/sase/denote.py) has as matches, for each of the four
    event selection strategies.

    What WHERE, WITHIN and the types of events say is abstract: [selects] says whether an event is one for a component, given
    what was selected before. So are the conditions on which a Kleene plus stops. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.

Section Sase.

Inductive strategy := StrictContiguity | PartitionContiguity | SkipTillNextMatch | SkipTillAnyMatch.

(** What is selected so far: the pairs (component, position), the last one first. *)
Definition selection := list (nat * nat).

Variable events : nat.                                    (* how many events the stream has *)
Variable components : nat.
Variable kleene : nat -> bool.                            (* whether a component is a Kleene plus *)
Variable strategy_of : nat -> strategy.
Variable selects : selection -> nat -> nat -> bool.       (* whether the event at p is one for component k *)
Variable in_partition : selection -> nat -> nat -> bool.
Variable may_stop must_stop : selection -> nat -> bool.   (* whether the Kleene plus may, must stop before position t *)
Variable careful : selection -> nat -> bool.              (* a reading: it does not skip what the next component selects *)
Variable some_component : 0 < components.

(** Whether the event at r may be passed over while the next one of component k is awaited (section 2.2.1). *)
Definition skips (chosen : selection) (k r : nat) : bool :=
  match strategy_of k with
  | StrictContiguity => false
  | PartitionContiguity => negb (in_partition chosen k r)
  | SkipTillNextMatch => negb (selects chosen k r)
  | SkipTillAnyMatch => true
  end.

(** Whether a Kleene plus that has not stopped skips the event at r. *)
Definition passes (chosen : selection) (k r : nat) : bool :=
  negb (must_stop chosen r) && skips chosen k r && negb (careful chosen r).

(* --- the declarative definition ------------------------------------------------------------------------------------- *)

Definition all_between (a b : nat) (P : nat -> bool) : Prop := forall r, a <= r < b -> P r = true.

(** Component k, selected last, at l, may be left before position t. *)
Definition stops (chosen : selection) (k l t : nat) : Prop :=
  if kleene k then l < t /\ may_stop chosen t = true /\ all_between (l + 1) t (passes chosen k) else t = l + 1.

(** Selections, complete or not: each grows by one event after the other. *)
Inductive selected : selection -> Prop :=
| begins p : p < events -> selects [] 0 p = true -> selected [(0, p)]
| goes_on k l chosen p : selected ((k, l) :: chosen) -> kleene k = true -> l < p < events ->
    selects ((k, l) :: chosen) k p = true -> must_stop ((k, l) :: chosen) p = false ->
    all_between (l + 1) p (passes ((k, l) :: chosen) k) -> selected ((k, p) :: (k, l) :: chosen)
| comes_next k l chosen p t : selected ((k, l) :: chosen) -> k + 1 < components -> t <= p < events ->
    selects ((k, l) :: chosen) (k + 1) p = true -> stops ((k, l) :: chosen) k l t ->
    all_between t p (skips ((k, l) :: chosen) (k + 1)) -> selected ((k + 1, p) :: (k, l) :: chosen).

(** A match: the last component is selected and, if it is a Kleene plus, may stop. *)
Definition is_match (chosen : selection) : Prop :=
  selected chosen /\ exists l before t, chosen = (components - 1, l) :: before /\ t <= events /\ stops chosen (components - 1) l t.

(* --- the automaton -------------------------------------------------------------------------------------------------- *)

(** A state awaits the first event of a component, or is the second state of a Kleene plus. The last, Await components,
    accepts. *)
Inductive state := Await (k : nat) | Within (k : nat).

Definition entered (k : nat) : state := if kleene k then Within k else Await (k + 1).

(** A run: its state, its buffer, and the position that it reads next. *)
Inductive reached : state -> selection -> nat -> Prop :=
| start_begin p : p < events -> selects [] 0 p = true -> reached (entered 0) [(0, p)] (p + 1)
| begin k chosen t : reached (Await k) chosen t -> k < components -> t < events -> selects chosen k t = true ->
    reached (entered k) ((k, t) :: chosen) (t + 1)
| ignore k chosen t : reached (Await k) chosen t -> k < components -> t < events -> skips chosen k t = true ->
    reached (Await k) chosen (t + 1)
| take k chosen t : reached (Within k) chosen t -> t < events -> selects chosen k t = true -> must_stop chosen t = false ->
    reached (Within k) ((k, t) :: chosen) (t + 1)
| ignore_within k chosen t : reached (Within k) chosen t -> t < events -> passes chosen k t = true ->
    reached (Within k) chosen (t + 1)
| proceed k chosen t : reached (Within k) chosen t -> may_stop chosen t = true -> reached (Await (k + 1)) chosen t.

(** The buffer of an accepting run. *)
Definition is_buffer (chosen : selection) : Prop := exists t, reached (Await components) chosen t.

(* --- they say the same ---------------------------------------------------------------------------------------------- *)

(** What the declarative definition says of a run's state. *)
Definition described (q : state) (chosen : selection) (t : nat) : Prop :=
  selected chosen /\ t <= events /\
  match q with
  | Within k => kleene k = true /\ exists l before, chosen = (k, l) :: before /\ l < t /\ k < components /\
      all_between (l + 1) t (passes chosen k)
  | Await k => exists j l before s, k = j + 1 /\ k <= components /\ chosen = (j, l) :: before /\ s <= t /\ stops chosen j l s /\
      all_between s t (skips chosen k) /\ (k = components -> s = t)
  end.

Lemma none_between a P : all_between a a P. Proof. intros r L; lia. Qed.

Lemma one_more a b P : all_between a b P -> P b = true -> all_between a (b + 1) P.
Proof. intros H K r L; destruct (Nat.eq_dec r b) as [->|N]; [exact K|apply H; lia]. Qed.

(** A state after an event is written. *)
Lemma after_entering k p before : selected ((k, p) :: before) -> k < components -> p < events ->
  described (entered k) ((k, p) :: before) (p + 1).
Proof.
  intros S K P; unfold entered; destruct (kleene k) eqn:E; (split; [exact S|]; split; [lia|]).
  - split; [exact E|]; exists p, before; repeat split; try lia; apply none_between.
  - exists k, p, before, (p + 1); unfold stops; rewrite E; repeat split; try lia; apply none_between.
Qed.

Lemma reached_described q chosen t : reached q chosen t -> described q chosen t.
Proof.
  induction 1 as [p P H|k chosen t R IH K T H|k chosen t R IH K T H|k chosen t R IH T H M|k chosen t R IH T H|k chosen t R IH H].
  - apply after_entering; [apply begins; assumption|exact some_component|exact P].
  - destruct IH as [S [_ [j [l [before [s [-> [_ [-> [L [X [Y _]]]]]]]]]]]].
    apply after_entering; [|exact K|exact T]; apply comes_next with (t := s); auto; lia.
  - destruct IH as [S [_ [j [l [before [s [-> [_ [-> [L [X [Y _]]]]]]]]]]]]; split; [exact S|]; split; [lia|].
    exists j, l, before, s; repeat split; auto; try lia; apply one_more; assumption.
  - destruct IH as [S [_ [E [l [before [-> [L [K X]]]]]]]]; split; [apply goes_on; auto; lia|]; split; [lia|]; split; [exact E|].
    exists t, ((k, l) :: before); repeat split; try lia; apply none_between.
  - destruct IH as [S [_ [E [l [before [-> [L [K X]]]]]]]]; split; [exact S|]; split; [lia|]; split; [exact E|].
    exists l, before; repeat split; try lia; apply one_more; assumption.
  - destruct IH as [S [N [E [l [before [-> [L [K X]]]]]]]]; split; [exact S|]; split; [exact N|].
    exists k, l, before, t; unfold stops; rewrite E; repeat split; auto; try lia; apply none_between.
Qed.

Lemma ignoring k chosen a b : reached (Await k) chosen a -> k < components -> a <= b <= events ->
  all_between a b (skips chosen k) -> reached (Await k) chosen b.
Proof.
  intros R K [L M] H; induction L as [|b L IH]; [exact R|]; replace (S b) with (b + 1) by lia; apply ignore; [|lia|lia|apply H; lia].
  apply IH; [lia|]; intros r N; apply H; lia.
Qed.

Lemma passing k chosen a b : reached (Within k) chosen a -> a <= b <= events -> all_between a b (passes chosen k) ->
  reached (Within k) chosen b.
Proof.
  intros R [L M] H; induction L as [|b L IH]; [exact R|]; replace (S b) with (b + 1) by lia; apply ignore_within; [|lia|apply H; lia].
  apply IH; [lia|]; intros r N; apply H; lia.
Qed.

(** After its last event a component is left where it stops. *)
Lemma leaving chosen k l t : reached (entered k) chosen (l + 1) -> t <= events -> stops chosen k l t -> reached (Await (k + 1)) chosen t.
Proof.
  unfold entered, stops; destruct (kleene k); [|intros R _ ->; exact R].
  intros R L [N [M H]]; apply proceed; [|exact M]; apply passing with (a := l + 1); auto; lia.
Qed.

Lemma selected_reached chosen : selected chosen -> forall k l before, chosen = (k, l) :: before -> reached (entered k) chosen (l + 1).
Proof.
  induction 1 as [p P H|k l chosen p R IH E L H M X|k l chosen p t R IH K L H M X]; intros k' l' before EQ; inversion EQ; subst.
  - apply start_begin; assumption.
  - specialize (IH _ _ _ eq_refl); unfold entered in *; rewrite E in *; apply take; auto; try lia.
    apply passing with (a := l + 1); auto; lia.
  - specialize (IH _ _ _ eq_refl); apply begin; auto; try lia.
    apply ignoring with (a := t); auto; try lia; apply leaving with (l := l); auto; lia.
Qed.

Theorem runs_are_matches chosen : is_buffer chosen <-> is_match chosen.
Proof.
  split.
  - intros [t R]; apply reached_described in R; destruct R as [S [L [j [l [before [s [E [_ [-> [M [X [_ N]]]]]]]]]]]].
    split; [exact S|]; replace (components - 1) with j by lia; exists l, before, s; repeat split; auto; lia.
  - intros [S [l [before [t [-> [L X]]]]]]; exists t.
    assert (R : reached (Await (components - 1 + 1)) ((components - 1, l) :: before) t).
    { apply leaving with (l := l); auto; apply (selected_reached _ S _ _ before); reflexivity. }
    replace (components - 1 + 1) with components in R by lia; exact R.
Qed.

End Sase.
