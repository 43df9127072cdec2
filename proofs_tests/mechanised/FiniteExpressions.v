(** The automaton of an event expression is finite: of its states, finitely many are enough. In Expressions.v the states of
    relative and relative+ are lists; of two lists with the same members one is enough. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Expressions Finite.

Section FiniteExpressions.

Variable event : Type.
Variable letters : list event.

Notation expression := (expression event).
Notation dfa := (dfa event).
Notation Q := (Q event).
Notation start := (start event).
Notation step := (step event).
Notation accepting := (accepting event).
Notation accepts := (accepts event).
Notation run := (run event).
Notation viable := (viable event).
Notation size := (size event).
Notation within := (within event letters).
Notation searched := (searched event letters).
Notation automaton := (automaton event letters).

(** A function that takes each state to one of a list, and only states that go on alike to the same one. *)
Definition folds (A : dfa) (canon : Q A -> Q A) (states : list (Q A)) : Prop :=
  (forall q, In (canon q) states) /\ (forall q, canon (canon q) = canon q) /\
  forall p q, canon p = canon q -> accepting A p = accepting A q /\ forall e, canon (step A p e) = canon (step A q e).

(** At most n states are enough. *)
Definition finite (A : dfa) (n : nat) : Prop := exists canon states, folds A canon states /\ length states <= n.

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

Lemma product_length {T U} (ts : list T) (us : list U) m n : length ts <= m -> length us <= n -> length (list_prod ts us) <= m * n.
Proof. intros H K; rewrite prod_length; apply Nat.mul_le_mono; assumption. Qed.

Lemma option_length {T} (ts : list T) n : length ts <= n -> length (None :: map Some ts) <= S n.
Proof. intros H; cbn; rewrite map_length; lia. Qed.

Lemma and_finite A B m n : finite A m -> finite B n -> finite (and_dfa event A B) (m * n).
Proof.
  intros [f [ts [[MA [IA HA]] LA]]] [g [us [[MB [IB HB]] LB]]]; exists (on_pair f g), (list_prod ts us).
  split; [split; [|split]|apply product_length; assumption].
  - intros [p q]; apply in_prod; auto.
  - intros [p q]; unfold on_pair; cbn; rewrite IA, IB; reflexivity.
  - intros [p r] [q s] E; injection E as E1 E2; destruct (HA p q E1) as [F S], (HB r s E2) as [G T].
    split; [cbn; congruence|]; intros e; unfold on_pair; cbn; rewrite S, T; reflexivity.
Qed.

Lemma pipe_finite A B m n : finite A m -> finite B n -> finite (pipe_dfa event A B) (m * n).
Proof.
  intros [f [ts [[MA [IA HA]] LA]]] [g [us [[MB [IB HB]] LB]]]; exists (on_pair f g), (list_prod ts us).
  split; [split; [|split]|apply product_length; assumption].
  - intros [p q]; apply in_prod; auto.
  - intros [p q]; unfold on_pair; cbn; rewrite IA, IB; reflexivity.
  - intros [p r] [q s] E; injection E as E1 E2; destruct (HA p q E1) as [F S], (HB r s E2) as [G T].
    split; [cbn; congruence|]; intros e; unfold on_pair; cbn; rewrite (S e), (proj1 (HA _ _ (S e))).
    destruct (accepting A (step A q e)); rewrite ?T, ?E2; reflexivity.
Qed.

Lemma not_finite A n : finite A n -> finite (not_dfa event A) (S n).
Proof.
  intros [f [ts [[M [I H]] L]]]; exists (option_map f), (None :: map Some ts).
  split; [split; [|split]|apply option_length, L].
  - intros [q|]; [right; cbn; apply in_map, M|left; reflexivity].
  - intros [q|]; cbn; rewrite ?I; reflexivity.
  - intros [p|] [q|] E; inversion E as [E']; [|split; reflexivity].
    destruct (H p q E') as [F S]; split; [cbn; rewrite F; reflexivity|]; intros e; cbn; rewrite S; reflexivity.
Qed.

Lemma within_alike A f ts n : folds A f ts -> forall p q, f p = f q -> within A n p = within A n q.
Proof.
  intros [_ [_ H]]; induction n as [|n IH]; intros p q E; [reflexivity|]; cbn [Expressions.within].
  assert (X : forall (a b : event -> bool) es, (forall e, a e = b e) -> existsb a es = existsb b es).
  { clear; intros a b es X; induction es as [|e es IH]; cbn; [reflexivity|rewrite X, IH; reflexivity]. }
  apply X; intros e; rewrite (proj1 (H _ _ (proj2 (H p q E) e))), (IH _ _ (proj2 (H p q E) e)); reflexivity.
Qed.

Lemma prefix_finite A k n : finite A n -> finite (prefix_dfa event letters k A) (S n).
Proof.
  intros [f [ts [F L]]]; pose proof F as [M [I H]]; exists (option_map f), (None :: map Some ts).
  split; [split; [|split]|apply option_length, L].
  - intros [q|]; [right; cbn; apply in_map, M|left; reflexivity].
  - intros [q|]; cbn; rewrite ?I; reflexivity.
  - intros [p|] [q|] E; inversion E as [E']; [|split; reflexivity].
    split; [apply (within_alike A f ts k F), E'|]; intros e; cbn; rewrite (proj2 (H p q E')); reflexivity.
Qed.

Lemma between_finite A B m n : finite A m -> finite B n -> finite (between_dfa event A B) (S m * n).
Proof.
  intros [f [ts [[MA [IA HA]] LA]]] [g [us [[MB [IB HB]] LB]]]; exists (on_pair (option_map f) g), (list_prod (None :: map Some ts) us).
  split; [split; [|split]|apply product_length; [apply option_length, LA|exact LB]].
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
Variable n : nat.
Variable LB : length us <= n.

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

Lemma gathered_length : length (sublists (Q B) us) <= 2 ^ n.
Proof. rewrite sublists_length; apply Nat.pow_le_mono_r; [discriminate|exact LB]. Qed.

Lemma relative_plus_finite : finite (relative_plus_dfa event B) (2 ^ n).
Proof.
  exists gathered, (sublists (Q B) us); split; [|apply gathered_length].
  pose proof HB as [M [I H]]; split; [intros R; apply in_sublists|].
  split; [intros R; apply gathered_twice; assumption|]; intros R R' E; split; [apply gathered_accepting, E|].
  intros e; cbn; pose proof (gathered_steps R R' e E) as S; rewrite (gathered_accepting _ _ S).
  destruct (existsb _ _); [apply gathered_cons, S|exact S].
Qed.

Lemma relative_finite A m : finite A m -> finite (relative_dfa event A B) (m * 2 ^ n).
Proof.
  intros [f [ts [[MA [IA HA]] LA]]]; pose proof HB as [M [I H]]; exists (on_pair f gathered), (list_prod ts (sublists (Q B) us)).
  split; [split; [|split]|apply product_length; [assumption|apply gathered_length]].
  - intros [p R]; apply in_prod; [apply MA|apply in_sublists].
  - intros [p R]; unfold on_pair; cbn; rewrite IA, gathered_twice by assumption; reflexivity.
  - intros [p R] [q R'] E; unfold on_pair in E; injection E as E1 E2; destruct (HA p q E1) as [F S].
    split; [apply gathered_accepting, E2|]; intros e; unfold on_pair; cbn; rewrite (S e), (proj1 (HA _ _ (S e))); f_equal.
    pose proof (gathered_steps R R' e E2) as G; destruct (accepting A (step A q e)); [apply gathered_cons, G|exact G].
Qed.

End Running.

Lemma automaton_finite E : finite (automaton E) (size E).
Proof.
  induction E; cbn [Expressions.automaton Expressions.size].
  - exists (fun q => q), [tt]; split; [|cbn; lia]; split; [intros []; left; reflexivity|]; split; [reflexivity|]; intros p q ->; auto.
  - exists (fun q => q), [true; false]; split; [|cbn; lia].
    split; [intros []; cbn; auto|]; split; [reflexivity|]; intros p q ->; auto.
  - apply and_finite; assumption.
  - apply not_finite, IHE.
  - destruct IHE2 as [g [us [H L]]]; apply (relative_finite (automaton E2) (automaton_dec E2) g us H _ L), IHE1.
  - destruct IHE as [g [us [H L]]]; apply (relative_plus_finite (automaton E) (automaton_dec E) g us H _ L).
  - apply pipe_finite; assumption.
  - apply between_finite; assumption.
  - apply prefix_finite, IHE.
Qed.

(* --- the search for prefix ------------------------------------------------------------------------------------------ *)

Section Search.

Variable A : dfa.
Variable A_dec : forall p q : Q A, {p = q} + {p <> q}.
Variable canon : Q A -> Q A.
Variable states : list (Q A).
Variable F : folds A canon states.

(** The states on the way. *)
Fixpoint passed (q : Q A) (w : list event) : list (Q A) :=
  match w with [] => [] | e :: w => canon (step A q e) :: passed (step A q e) w end.

Lemma passed_length w : forall q, length (passed q w) = length w.
Proof. induction w as [|e w IH]; intros q; cbn; auto. Qed.

Lemma in_passed w : forall q r, In r (passed q w) -> exists u v, w = u ++ v /\ u <> [] /\ canon (run A q u) = r.
Proof.
  induction w as [|e w IH]; intros q r; [intros []|]; intros [<-|I].
  - exists [e], w; repeat split; discriminate.
  - destruct (IH _ _ I) as [u [v [-> [N E]]]]; exists (e :: u), v; repeat split; [discriminate|exact E].
Qed.

(** A way that comes to a state twice can be cut short. *)
Lemma cut_short w : forall q, NoDup (passed q w) \/
  exists u, u <> [] /\ length u < length w /\ canon (run A q u) = canon (run A q w).
Proof.
  induction w as [|e w IH]; intros q; [left; constructor|]; destruct (IH (step A q e)) as [N|[u [N [L E]]]].
  - destruct (in_dec A_dec (canon (step A q e)) (passed (step A q e) w)) as [I|I]; [right|left; constructor; assumption].
    apply in_passed in I; destruct I as [u [v [-> [U E]]]]; exists (e :: v); split; [discriminate|].
    split; [rewrite !app_length in *; cbn; rewrite app_length; destruct u; [congruence|cbn; lia]|].
    symmetry; change (canon (run A (step A q e) (u ++ v)) = canon (run A (step A q e) v)).
    rewrite run_app; apply (alike_runs A canon states v F), E.
  - right; exists (e :: u); split; [discriminate|]; split; [cbn; lia|exact E].
Qed.

Lemma short_way q : viable A q -> exists w, w <> [] /\ length w <= length states /\ accepting A (run A q w) = true.
Proof.
  intros [w [N K]]; pose proof (le_n (length w)) as L; revert L N K; generalize (length w) at 2 as n; intros n; revert w.
  induction n as [|n IH]; intros w L N K; [destruct w; [congruence|cbn in L; lia]|].
  destruct (cut_short w q) as [D|[u [U [S E]]]].
  - exists w; split; [exact N|]; split; [|exact K]; rewrite <- (passed_length w q); apply NoDup_incl_length; [exact D|].
    intros r I; apply in_passed in I; destruct I as [u [v [_ [_ <-]]]]; apply F.
  - apply (IH u); [lia|exact U|]; rewrite <- K; apply F, E.
Qed.

Lemma within_spec n : (forall e, In e letters) -> forall q, within A n q = true <->
  exists w, w <> [] /\ length w <= n /\ accepting A (run A q w) = true.
Proof.
  intros T; induction n as [|n IH]; intros q; cbn [Expressions.within].
  - split; [discriminate|]; intros [[|e w] [N [L _]]]; [congruence|cbn in L; lia].
  - rewrite existsb_exists; split.
    + intros [e [_ H]]; apply orb_true_iff in H; destruct H as [H|H].
      * exists [e]; split; [discriminate|]; split; [cbn; lia|exact H].
      * apply IH in H; destruct H as [w [N [L K]]]; exists (e :: w); split; [discriminate|]; split; [cbn; lia|exact K].
    + intros [[|e w] [N [L K]]]; [congruence|]; exists e; split; [apply T|]; apply orb_true_iff.
      destruct w as [|f w]; [left; exact K|right; apply IH; exists (f :: w)]; split; [discriminate|]; split; [cbn in *; lia|exact K].
Qed.

End Search.

(** Over finitely many types of events, all in the list, the search for prefix finds what there is. *)
Theorem all_searched E : (forall e, In e letters) -> searched E.
Proof.
  intros T; induction E; cbn; auto; split; [assumption|]; intros q.
  destruct (automaton_finite E) as [canon [states [F L]]]; rewrite (within_spec _ _ T); split.
  - intros [w [N [_ K]]]; exists w; auto.
  - intros V; destruct (short_way _ (automaton_dec E) canon states F q V) as [w [N [M K]]]; exists w; repeat split; auto; lia.
Qed.

(* --- the theorems --------------------------------------------------------------------------------------------------- *)

(** Corollary 1 over finitely many types of events, for all expressions. *)
Theorem corollary_1_finite E : (forall e, In e letters) -> describes event (automaton E) (meaning event E).
Proof. intros T; apply corollary_1, all_searched, T. Qed.

(** Theorem 1 with a finite automaton: over finitely many types of events, or for an expression without prefix. *)
Theorem theorem_1_finite E : (forall e, In e letters) \/ prefix_free event E = true -> exists A states,
  has_states A states /\ length states <= size E /\
  forall h o, ascending event (h ++ [o]) -> meaning event E (h ++ [o]) o <-> accepts A (types event (h ++ [o])) = true.
Proof.
  intros T; assert (V : searched E) by (destruct T; [apply all_searched|apply prefix_free_searched]; assumption).
  destruct (automaton_finite E) as [canon [states [H L]]]; exists (folded (automaton E) canon), states; split; [|split; [exact L|]].
  - destruct H as [M _]; split; [apply M|intros q e; apply M].
  - intros h o S; rewrite (folded_accepts _ canon states _ H); apply theorem_1; assumption.
Qed.

End FiniteExpressions.
