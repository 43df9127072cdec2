(** The automaton of an event expression is finite: of its states, finitely many are enough. In Expressions.v the states of
    relative and relative+ are lists; of two lists with the same members one is enough. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Expressions Finite.

Section FiniteExpressions.

Variable event : Type.
Variable viable_dec : forall A q, {viable event A q} + {~ viable event A q}.

Notation expression := (expression event).
Notation dfa := (dfa event).
Notation Q := (Q event).
Notation start := (start event).
Notation step := (step event).
Notation accepting := (accepting event).
Notation accepts := (accepts event).
Notation run := (run event).
Notation automaton := (automaton event viable_dec).

(** A function that takes each state to one of a list, and only states that go on alike to the same one. *)
Definition folds (A : dfa) (canon : Q A -> Q A) (states : list (Q A)) : Prop :=
  (forall q, In (canon q) states) /\ (forall q, canon (canon q) = canon q) /\
  forall p q, canon p = canon q -> accepting A p = accepting A q /\ forall e, canon (step A p e) = canon (step A q e).

Definition finite (A : dfa) : Prop := exists canon states, folds A canon states.

Definition folded (A : dfa) (canon : Q A -> Q A) : dfa :=
  {| Expressions.Q := Q A; Expressions.start := canon (start A); Expressions.step := fun q e => canon (step A q e);
     Expressions.accepting := accepting A |}.

Definition has_states (A : dfa) (states : list (Q A)) : Prop := In (start A) states /\ forall q e, In (step A q e) states.

Lemma alike_runs A canon states w : folds A canon states -> forall p q, canon p = canon q -> canon (run A p w) = canon (run A q w).
Proof. intros [_ [_ H]]; induction w as [|e w IH]; intros p q E; [exact E|]; apply IH, H, E. Qed.

Lemma folded_run A canon states w : folds A canon states -> forall p q, p = canon q -> run (folded A canon) p w = canon (run A q w).
Proof.
  intros F; pose proof F as [_ [I H]]; induction w as [|e w IH]; intros p q ->; [reflexivity|].
  apply (IH (canon (step A (canon q) e)) (step A q e)); apply H, I.
Qed.

Lemma folded_accepts A canon states w : folds A canon states -> accepts (folded A canon) w = accepts A w.
Proof.
  intros F; pose proof F as [_ [I H]]; unfold Expressions.accepts; cbn [Expressions.start folded].
  rewrite (folded_run A canon states w F _ (start A) eq_refl); apply H, I.
Qed.

(* --- the cases ------------------------------------------------------------------------------------------------------ *)

Lemma automaton_dec E : forall p q : Q (automaton E), {p = q} + {p <> q}.
Proof. induction E; cbn; intros p q; repeat first [assumption | apply IHE | apply IHE1 | apply IHE2 | apply list_eq_dec | decide equality]. Defined.

Lemma and_finite A B : finite A -> finite B -> finite (and_dfa event A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]]; exists (on_pair f g), (list_prod ts us); split; [|split].
  - intros [p q]; apply in_prod; auto.
  - intros [p q]; unfold on_pair; cbn; rewrite IA, IB; reflexivity.
  - intros [p r] [q s] E; injection E as E1 E2; destruct (HA p q E1) as [F S], (HB r s E2) as [G T].
    split; [cbn; congruence|]; intros e; unfold on_pair; cbn; rewrite S, T; reflexivity.
Qed.

Lemma pipe_finite A B : finite A -> finite B -> finite (pipe_dfa event A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]]; exists (on_pair f g), (list_prod ts us); split; [|split].
  - intros [p q]; apply in_prod; auto.
  - intros [p q]; unfold on_pair; cbn; rewrite IA, IB; reflexivity.
  - intros [p r] [q s] E; injection E as E1 E2; destruct (HA p q E1) as [F S], (HB r s E2) as [G T].
    split; [cbn; congruence|]; intros e; unfold on_pair; cbn; rewrite (S e), (proj1 (HA _ _ (S e))).
    destruct (accepting A (step A q e)); rewrite ?T, ?E2; reflexivity.
Qed.

Lemma not_finite A : finite A -> finite (not_dfa event A).
Proof.
  intros [f [ts [M [I H]]]]; exists (option_map f), (None :: map Some ts); split; [|split].
  - intros [q|]; [right; cbn; apply in_map, M|left; reflexivity].
  - intros [q|]; cbn; rewrite ?I; reflexivity.
  - intros [p|] [q|] E; inversion E as [E']; [|split; reflexivity].
    destruct (H p q E') as [F S]; split; [cbn; rewrite F; reflexivity|]; intros e; cbn; rewrite S; reflexivity.
Qed.

Lemma prefix_finite A : finite A -> finite (prefix_dfa event viable_dec A).
Proof.
  intros [f [ts FA]]; pose proof FA as [M [I H]]; exists (option_map f), (None :: map Some ts); split; [|split].
  - intros [q|]; [right; cbn; apply in_map, M|left; reflexivity].
  - intros [q|]; cbn; rewrite ?I; reflexivity.
  - assert (V : forall p q, f p = f q -> viable event A p -> viable event A q).
    { intros p q E [w [N K]]; exists w; split; [exact N|]; rewrite <- K; symmetry; apply H, (alike_runs A f ts w FA), E. }
    intros [p|] [q|] E; inversion E as [E']; [|split; reflexivity].
    destruct (H p q E') as [F S]; split; [|intros e; cbn; rewrite S; reflexivity].
    cbn; destruct (viable_dec A p) as [X|X], (viable_dec A q) as [Y|Y]; try reflexivity; exfalso;
      [apply Y, (V p q E' X)|apply X, (V q p (eq_sym E') Y)].
Qed.

Lemma between_finite A B : finite A -> finite B -> finite (between_dfa event A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]]; exists (on_pair (option_map f) g), (list_prod (None :: map Some ts) us); split; [|split].
  - intros [[p|] q]; apply in_prod; auto; [right; cbn; apply in_map, MA|left; reflexivity].
  - intros [[p|] q]; unfold on_pair; cbn; rewrite ?IA, IB; reflexivity.
  - intros [p r] [q s] E; injection E as E1 E2; destruct (HB r s E2) as [G T].
    assert (X : match p with Some x => match q with Some y => f x = f y | None => False end | None => q = None end)
      by (destruct p, q; cbn in E1; congruence).
    split.
    + cbn; destruct p as [x|], q as [y|]; try contradiction; try discriminate; [apply HA, X|reflexivity].
    + intros e; unfold on_pair; cbn; rewrite (T e), (proj1 (HB _ _ (T e))); f_equal.
      destruct (accepting B (step B s e)); [reflexivity|].
      destruct p as [x|], q as [y|]; try contradiction; try discriminate; [|reflexivity]; cbn; f_equal; apply HA, X.
Qed.

Section Running.

Variable B : dfa.
Variable B_dec : forall p q : Q B, {p = q} + {p <> q}.
Variable g : Q B -> Q B.
Variable us : list (Q B).
Variable HB : folds B g us.

Notation gathered := (gathered (Q B) B_dec g us).

Lemma gathered_cons q R R' : gathered R = gathered R' -> gathered (q :: R) = gathered (q :: R').
Proof.
  destruct HB as [M _]; intros E; apply same_gathered; intros p [<-|I]; try (exists q; split; [left|]; reflexivity).
  - destruct (gathered_same _ B_dec g us M R R' E p I) as [r [J K]]; exists r; split; [right; exact J|exact K].
  - destruct (gathered_same _ B_dec g us M R' R (eq_sym E) p I) as [r [J K]]; exists r; split; [right; exact J|exact K].
Qed.

Lemma gathered_steps R R' e : gathered R = gathered R' -> gathered (map (fun r => step B r e) R) = gathered (map (fun r => step B r e) R').
Proof.
  destruct HB as [M [_ H]]; assert (X : forall R R', gathered R = gathered R' -> forall p, In p (map (fun r => step B r e) R) ->
    exists q, In q (map (fun r => step B r e) R') /\ g p = g q).
  { intros X Y E p I; apply in_map_iff in I; destruct I as [r [<- I]]; destruct (gathered_same _ B_dec g us M X Y E r I) as [s [J K]].
    exists (step B s e); split; [apply in_map_iff; exists s; auto|apply H, K]. }
  intros E; apply same_gathered; apply X; auto.
Qed.

Lemma gathered_accepting R R' : gathered R = gathered R' -> existsb (accepting B) R = existsb (accepting B) R'.
Proof. destruct HB as [M [_ H]]; apply (existsb_same _ B_dec g us M); intros p q E; apply H, E. Qed.

Lemma relative_plus_finite : finite (relative_plus_dfa event B).
Proof.
  exists gathered, (sublists (Q B) us); pose proof HB as [M [I H]]; split; [intros R; apply in_sublists|].
  split; [intros R; apply gathered_twice; assumption|]; intros R R' E; split; [apply gathered_accepting, E|].
  intros e; cbn; pose proof (gathered_steps R R' e E) as S; rewrite (gathered_accepting _ _ S).
  destruct (existsb _ _); [apply gathered_cons, S|exact S].
Qed.

Lemma relative_finite A : finite A -> finite (relative_dfa event A B).
Proof.
  intros [f [ts [MA [IA HA]]]]; pose proof HB as [M [I H]].
  exists (on_pair f gathered), (list_prod ts (sublists (Q B) us)); split; [|split].
  - intros [p R]; apply in_prod; [apply MA|apply in_sublists].
  - intros [p R]; unfold on_pair; cbn; rewrite IA, gathered_twice by assumption; reflexivity.
  - intros [p R] [q R'] E; unfold on_pair in E; injection E as E1 E2; destruct (HA p q E1) as [F S].
    split; [apply gathered_accepting, E2|]; intros e; unfold on_pair; cbn; rewrite (S e), (proj1 (HA _ _ (S e))); f_equal.
    pose proof (gathered_steps R R' e E2) as G; destruct (accepting A (step A q e)); [apply gathered_cons, G|exact G].
Qed.

End Running.

Lemma automaton_finite E : finite (automaton E).
Proof.
  induction E; cbn [Expressions.automaton].
  - exists (fun q => q), [tt]; split; [intros []; left; reflexivity|]; split; [reflexivity|]; intros p q ->; auto.
  - exists (fun q => q), [true; false]; split; [intros []; cbn; auto|]; split; [reflexivity|]; intros p q ->; auto.
  - apply and_finite; assumption.
  - apply not_finite, IHE.
  - destruct IHE2 as [g [us H]]; apply (relative_finite (automaton E2) (automaton_dec E2) g us H), IHE1.
  - destruct IHE as [g [us H]]; apply (relative_plus_finite (automaton E) (automaton_dec E) g us H).
  - apply pipe_finite; assumption.
  - apply between_finite; assumption.
  - apply prefix_finite, IHE.
Qed.

(** Theorem 1 with a finite automaton. *)
Theorem theorem_1_finite E : exists A states, has_states A states /\
  forall h o, ascending event (h ++ [o]) -> meaning event E (h ++ [o]) o <-> accepts A (types event (h ++ [o])) = true.
Proof.
  destruct (automaton_finite E) as [canon [states H]]; exists (folded (automaton E) canon), states; split.
  - destruct H as [M _]; split; [apply M|intros q e; apply M].
  - intros h o S; rewrite (folded_accepts _ canon states _ H); apply theorem_1, S.
Qed.

End FiniteExpressions.
