(** Operators that go through others: IN and PROJECT map each valuation, FILTER, START, STRICT and UNLESS restrict them. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge Algebra.

Section Distribute.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Load Names.
Notation unbroken := (unbroken var).
Existing Instance equ_equivalence.
Existing Instance same_equivalence.
Existing Instance union_proper.
Existing Instance sup_proper.
Existing Instance first_proper.
Existing Instance last_proper.

Lemma meaning_good S phi : good (meaning S phi).
Proof.
  split; intros *.
  - intros H K; apply (valuations_are_words event var var_dec type_of) in K; apply (valuations_are_words event var var_dec type_of).
    destruct K as [w [W [P M]]]; exists w; split; [exact W|]; split; [exact P|]; rewrite <- H; exact M.
  - intros K; apply (valuations_are_words event var var_dec type_of) in K; destruct K as [w [_ [[N [_ L]] _]]].
    destruct w; [congruence|]; cbn in L; lia.
  - intros K H; apply (valuations_are_words event var var_dec type_of) in K; destruct K as [w [_ [[_ [_ L]] M]]].
    apply M, val_range in H; lia.
Qed.

(** [lies mu i j]: mu binds positions of the interval only. *)
Definition lies (mu : valuation) (i j : nat) : Prop := forall p, sup mu p -> i <= p <= j.

Lemma good_lies D i j mu : good D -> D i j mu -> lies mu i j.
Proof. intros G H p K; eapply sup_range; eauto. Qed.

(** ; and : as one operation with a condition on the place where the parts meet. *)
Definition joined (c : nat -> valuation -> valuation -> Prop) (D E : meanings) : meanings := fun i j mu =>
  exists k mu1 mu2, i <= k < j /\ D i k mu1 /\ E (k + 1) j mu2 /\ c k mu1 mu2 /\ same mu (union mu1 mu2).

Definition anywhere (k : nat) (mu nu : valuation) : Prop := True.
Definition meet (k : nat) (mu nu : valuation) : Prop := last mu k /\ first nu (k + 1).

Lemma sequenced_joined D E : equ (sequenced D E) (joined anywhere D E).
Proof. intros i j mu; unfold Cel.sequenced, joined, anywhere; split; intros [k [mu1 [mu2 H]]]; exists k, mu1, mu2; tauto. Qed.

Lemma contiguous_joined D E : equ (contiguous D E) (joined meet D E).
Proof. intros i j mu; unfold Cel.contiguous, joined, meet; split; intros [k [mu1 [mu2 H]]]; exists k, mu1, mu2; tauto. Qed.

(* --- restrictions --------------------------------------------------------------------------------------------------- *)

Definition property := nat -> nat -> valuation -> Prop.

(** A property of a whole is one of its two parts; of its first part. *)
Definition additive (P : property) : Prop := forall i k j mu mu1 mu2,
  i <= k < j -> lies mu1 i k -> lies mu2 (k + 1) j -> same mu (union mu1 mu2) -> P i j mu <-> P i k mu1 /\ P (k + 1) j mu2.
Definition initially (P : property) : Prop := forall i k j mu mu1 mu2,
  i <= k < j -> lies mu1 i k -> lies mu2 (k + 1) j -> same mu (union mu1 mu2) -> P i j mu <-> P i k mu1.

Lemma restrict_joined P c D E : additive P -> good D -> good E ->
  equ (restricted P (joined c D E)) (joined c (restricted P D) (restricted P E)).
Proof.
  intros A GD GE i j mu; unfold Algebra.restricted; split.
  - intros [[k [mu1 [mu2 [L [K1 [K2 [C M]]]]]]] H]; apply (A i k j mu mu1 mu2) in H; eauto using good_lies.
    exists k, mu1, mu2; tauto.
  - intros [k [mu1 [mu2 [L [[K1 P1] [[K2 P2] [C M]]]]]]]; split; [exists k, mu1, mu2; auto|].
    apply (A i k j mu mu1 mu2); eauto using good_lies.
Qed.

Lemma restrict_first P c D E : initially P -> good D -> good E ->
  equ (restricted P (joined c D E)) (joined c (restricted P D) E).
Proof.
  intros A GD GE i j mu; unfold Algebra.restricted; split.
  - intros [[k [mu1 [mu2 [L [K1 [K2 [C M]]]]]]] H]; apply (A i k j mu mu1 mu2) in H; eauto using good_lies.
    exists k, mu1, mu2; tauto.
  - intros [k [mu1 [mu2 [L [[K1 P1] [K2 [C M]]]]]]]; split; [exists k, mu1, mu2; auto|].
    apply (A i k j mu mu1 mu2); eauto using good_lies.
Qed.

Lemma restrict_sequenced P D E : additive P -> good D -> good E ->
  equ (restricted P (sequenced D E)) (sequenced (restricted P D) (restricted P E)).
Proof.
  intros A GD GE; rewrite (sequenced_joined (restricted P D)), <- restrict_joined by assumption.
  intros i j mu; unfold Algebra.restricted; rewrite (sequenced_joined D E i j mu); tauto.
Qed.

Lemma restrict_contiguous P D E : additive P -> good D -> good E ->
  equ (restricted P (contiguous D E)) (contiguous (restricted P D) (restricted P E)).
Proof.
  intros A GD GE; rewrite (contiguous_joined (restricted P D)), <- restrict_joined by assumption.
  intros i j mu; unfold Algebra.restricted; rewrite (contiguous_joined D E i j mu); tauto.
Qed.

Lemma restrict_sup P (E : nat -> meanings) :
  equ (restricted P (fun i j mu => exists n, E n i j mu)) (fun i j mu => exists n, restricted P (E n) i j mu).
Proof. intros i j mu; unfold Algebra.restricted; firstorder. Qed.

Lemma restrict_plus P D : additive P -> good D -> equ (restricted P (iterated sequenced D)) (iterated sequenced (restricted P D)).
Proof.
  intros A G; apply through_iter; auto using sequenced_joining; [intros; apply restrict_sup|].
  intros; apply restrict_sequenced; assumption.
Qed.

Lemma restrict_contiguous_plus P D : additive P -> good D -> equ (restricted P (iterated contiguous D)) (iterated contiguous (restricted P D)).
Proof.
  intros A G; apply through_iter; auto using contiguous_joining; [intros; apply restrict_sup|].
  intros; apply restrict_contiguous; assumption.
Qed.

Definition every (S : nat -> event) (X : var) (P : event -> bool) : property := fun _ _ mu => forall p, mu X p -> P (S p) = true.

Lemma every_additive S X P : additive (every S X P).
Proof.
  intros i k j mu mu1 mu2 L L1 L2 M; unfold every; split.
  - intros H; split; intros p K; apply H, M; [left|right]; exact K.
  - intros [H1 H2] p K; apply M in K; destruct K; auto.
Qed.

Definition at_first : property := fun i _ mu => first mu i.

Lemma at_first_initially : initially at_first.
Proof.
  intros i k j mu mu1 mu2 L L1 L2 M; unfold at_first; rewrite M; apply first_union with (k := k); [lia|exact L1|].
  intros p H; apply L2 in H; lia.
Qed.

Lemma start_sequenced D E : good D -> good E -> equ (restricted at_first (sequenced D E)) (sequenced (restricted at_first D) E).
Proof.
  intros GD GE; rewrite (sequenced_joined (restricted at_first D)), <- restrict_first by auto using at_first_initially.
  intros i j mu; unfold Algebra.restricted; rewrite (sequenced_joined D E i j mu); tauto.
Qed.

Lemma start_contiguous D E : good D -> good E -> equ (restricted at_first (contiguous D E)) (contiguous (restricted at_first D) E).
Proof.
  intros GD GE; rewrite (contiguous_joined (restricted at_first D)), <- restrict_first by auto using at_first_initially.
  intros i j mu; unfold Algebra.restricted; rewrite (contiguous_joined D E i j mu); tauto.
Qed.

Lemma start_iter join D : joining var join -> (forall E, good E -> equ (restricted at_first (join D E)) (join (restricted at_first D) E)) ->
  good D -> equ (restricted at_first (iterated join D)) (either (restricted at_first D) (join (restricted at_first D) (iterated join D))).
Proof.
  intros J H G i j mu; unfold Algebra.restricted at 1; rewrite (iter_left var join J D i j mu); unfold Algebra.either.
  rewrite <- (H (iterated join D) (iter_good var join J D G) i j mu); unfold Algebra.restricted; tauto.
Qed.

Lemma start_plus D : good D -> equ (restricted at_first (iterated sequenced D))
  (either (restricted at_first D) (sequenced (restricted at_first D) (iterated sequenced D))).
Proof. intros G; apply start_iter; auto using sequenced_joining, start_sequenced. Qed.

Lemma start_contiguous_plus D : good D -> equ (restricted at_first (iterated contiguous D))
  (either (restricted at_first D) (contiguous (restricted at_first D) (iterated contiguous D))).
Proof. intros G; apply start_iter; auto using contiguous_joining, start_contiguous. Qed.

Lemma start_after_contiguous D E : equ (contiguous D (restricted at_first E)) (contiguous D E).
Proof.
  intros i j mu; unfold Cel.contiguous, Algebra.restricted, at_first; split; intros [k [mu1 [mu2 H]]]; exists k, mu1, mu2; tauto.
Qed.

(* --- maps ----------------------------------------------------------------------------------------------------------- *)

Record homomorphism (f : valuation -> valuation) : Prop := {
  map_same : forall mu nu, same mu nu -> same (f mu) (f nu);
  map_union : forall mu nu, same (f (union mu nu)) (union (f mu) (f nu))
}.

Lemma map_joined f c D E : homomorphism f -> (forall k mu nu, c k (f mu) (f nu) <-> c k mu nu) ->
  (forall k mu mu' nu nu', same mu mu' -> same nu nu' -> c k mu nu <-> c k mu' nu') ->
  equ (mapped f (joined c D E)) (joined c (mapped f D) (mapped f E)).
Proof.
  intros F C CS i j mu; split.
  - intros [nu [[k [mu1 [mu2 [L [K1 [K2 [K M]]]]]]] N]]; exists k, (f mu1), (f mu2); split; [exact L|].
    split; [exists mu1; split; [exact K1|reflexivity]|]; split; [exists mu2; split; [exact K2|reflexivity]|].
    split; [apply C, K|]; rewrite N, (map_same f F nu _ M); apply map_union, F.
  - intros [k [mu1 [mu2 [L [[nu1 [K1 M1]] [[nu2 [K2 M2]] [K M]]]]]]]; exists (union nu1 nu2); split.
    + exists k, nu1, nu2; repeat (split; [assumption|]); split; [apply C, (CS k mu1 _ mu2 _ M1 M2), K|reflexivity].
    + rewrite M, M1, M2; symmetry; apply map_union, F.
Qed.

Lemma map_equ f D E : equ D E -> equ (mapped f D) (mapped f E).
Proof. intros H i j mu; split; intros [nu [K M]]; exists nu; (split; [apply H, K|exact M]). Qed.

Lemma map_sequenced f D E : homomorphism f -> equ (mapped f (sequenced D E)) (sequenced (mapped f D) (mapped f E)).
Proof.
  intros F; rewrite (map_equ f _ _ (sequenced_joined D E)), (sequenced_joined (mapped f D)); apply map_joined;
    [exact F|unfold anywhere; tauto|unfold anywhere; tauto].
Qed.

Definition keeps_support (f : valuation -> valuation) : Prop := forall mu p, sup (f mu) p <-> sup mu p.

Lemma first_kept f mu p : keeps_support f -> first (f mu) p <-> first mu p.
Proof. intros K; unfold Cel.first; setoid_rewrite (K mu); tauto. Qed.

Lemma last_kept f mu p : keeps_support f -> last (f mu) p <-> last mu p.
Proof. intros K; unfold Cel.last; setoid_rewrite (K mu); tauto. Qed.

Lemma map_contiguous f D E : homomorphism f -> keeps_support f ->
  equ (mapped f (contiguous D E)) (contiguous (mapped f D) (mapped f E)).
Proof.
  intros F K; rewrite (map_equ f _ _ (contiguous_joined D E)), (contiguous_joined (mapped f D)); apply map_joined; [exact F|..].
  - intros k mu nu; unfold meet; rewrite first_kept, last_kept by exact K; tauto.
  - intros k mu mu' nu nu' H H'; unfold meet; rewrite H, H'; tauto.
Qed.

Lemma map_sup f (E : nat -> meanings) :
  equ (mapped f (fun i j mu => exists n, E n i j mu)) (fun i j mu => exists n, mapped f (E n) i j mu).
Proof. intros i j mu; unfold Algebra.mapped; firstorder. Qed.

Lemma map_plus f D : homomorphism f -> good D -> equ (mapped f (iterated sequenced D)) (iterated sequenced (mapped f D)).
Proof.
  intros F G; apply through_iter; auto using sequenced_joining; [intros; apply map_sup|intros; apply map_sequenced, F].
Qed.

Lemma map_contiguous_plus f D : homomorphism f -> keeps_support f -> good D ->
  equ (mapped f (iterated contiguous D)) (iterated contiguous (mapped f D)).
Proof.
  intros F K G; apply through_iter; auto using contiguous_joining; [intros; apply map_sup|intros; apply map_contiguous; assumption].
Qed.

Lemma map_interleaved f D E : homomorphism f -> equ (mapped f (interleaved D E)) (interleaved (mapped f D) (mapped f E)).
Proof.
  intros F i j mu; split.
  - intros [nu [[i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]] N]]; exists i1, j1, i2, j2, (f mu1), (f mu2).
    repeat (split; [assumption|]); split; [exists mu1; split; [exact K1|reflexivity]|]; split; [exists mu2; split; [exact K2|reflexivity]|].
    rewrite N, (map_same f F nu _ M); apply map_union, F.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [[nu1 [K1 M1]] [[nu2 [K2 M2]] M]]]]]]]]]]]]; exists (union nu1 nu2); split.
    + exists i1, j1, i2, j2, nu1, nu2; repeat (split; [assumption|]); reflexivity.
    + rewrite M, M1, M2; symmetry; apply map_union, F.
Qed.

Lemma bound_as_support A : keeps_support (bound_as A).
Proof.
  intros mu p; unfold Cel.sup, Algebra.bound_as; split.
  - intros [B [[_ H]|[_ H]]]; [exists B; exact H|exact H].
  - intros H; exists A; right; auto.
Qed.

Lemma bound_as_homomorphism A : homomorphism (bound_as A).
Proof.
  split.
  - intros mu nu H B p; unfold Algebra.bound_as; rewrite (H B p), H; tauto.
  - intros mu nu B p; unfold Algebra.bound_as at 1; rewrite sup_union; unfold Cel.union, Algebra.bound_as; tauto.
Qed.

Lemma only_homomorphism L : homomorphism (only L).
Proof.
  split; [intros mu nu H B p; unfold Algebra.only; rewrite (H B p); tauto|].
  intros mu nu B p; unfold Algebra.only, Cel.union; tauto.
Qed.

(** A property of valuations and their images. *)
Lemma map_restrict f (P P' : property) (D : meanings) : (forall i j mu nu, D i j nu -> same mu (f nu) -> P i j mu <-> P' i j nu) ->
  equ (restricted P (mapped f D)) (mapped f (restricted P' D)).
Proof.
  intros H i j mu; unfold Algebra.restricted, Algebra.mapped; split.
  - intros [[nu [K M]] L]; exists nu; split; [split; [exact K|apply (H i j mu nu K M), L]|exact M].
  - intros [nu [[K L] M]]; split; [exists nu; auto|apply (H i j mu nu K M), L].
Qed.

(** One map after another. *)
Lemma map_map f g h D : (forall mu nu, same mu nu -> same (f mu) (f nu)) -> (forall mu, same (f (g mu)) (h mu)) ->
  equ (mapped f (mapped g D)) (mapped h D).
Proof.
  intros F H i j mu; unfold Algebra.mapped; split.
  - intros [nu [[xi [K N]] M]]; exists xi; split; [exact K|]; rewrite M, <- H; apply F, N.
  - intros [xi [K M]]; exists (g xi); split; [exists xi; split; [exact K|reflexivity]|]; rewrite M, H; reflexivity.
Qed.

(* --- ALL ------------------------------------------------------------------------------------------------------------ *)

Lemma interleaved_comm D E : equ (interleaved D E) (interleaved E D).
Proof.
  intros i j mu; split; intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]]; exists i2, j2, i1, j1, mu2, mu1;
    repeat (split; [first [assumption | lia]|]); rewrite M; apply union_comm.
Qed.

Lemma interleaved_assoc D E F : equ (interleaved (interleaved D E) F) (interleaved D (interleaved E F)).
Proof.
  intros i j mu; split.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [[a [b [c [d [nu1 [nu2 [M1 [M2 [I' [J' [K1 [K2 M]]]]]]]]]]]] [K3 N]]]]]]]]]]]].
    exists a, b, (min c i2), (max d j2), nu1, (union nu2 mu2); repeat (split; [first [assumption | lia]|]); split.
    + exists c, d, i2, j2, nu2, mu2; repeat (split; [first [assumption | lia]|]); reflexivity.
    + rewrite N, M; apply union_assoc.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [[a [b [c [d [nu1 [nu2 [M1 [M2 [I' [J' [K2 [K3 M]]]]]]]]]]]] N]]]]]]]]]]]].
    exists (min i1 a), (max j1 b), c, d, (union mu1 nu1), nu2; repeat (split; [first [assumption | lia]|]); split.
    + exists i1, j1, a, b, mu1, nu1; repeat (split; [first [assumption | lia]|]); reflexivity.
    + split; [exact K3|]; rewrite N, M; symmetry; apply union_assoc.
Qed.

Lemma interleaved_or D E E' : equ (interleaved D (either E E')) (either (interleaved D E) (interleaved D E')).
Proof.
  intros i j mu; unfold Algebra.either; split.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [[K2|K2] M]]]]]]]]]]]]; [left|right]; exists i1, j1, i2, j2, mu1, mu2; auto 9.
  - intros [H|H]; destruct H as [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]]; exists i1, j1, i2, j2, mu1, mu2; auto 9.
Qed.

Lemma interleaved_same D E : good D -> sub (restricted E D) (interleaved D E).
Proof.
  intros G i j mu [K L]; exists i, j, i, j, mu, mu; pose proof (good_order var D G i j mu K).
  repeat (split; [first [assumption | lia]|]); intros A p; unfold Cel.union; tauto.
Qed.

Lemma interleaved_sequenced D E : good D -> good E -> sub (sequenced D E) (interleaved D E).
Proof.
  intros G G' i j mu [k [mu1 [mu2 [L [K1 [K2 M]]]]]]; exists i, k, (k + 1), j, mu1, mu2.
  pose proof (good_order var E G' _ _ _ K2); repeat (split; [first [assumption | lia]|]); exact M.
Qed.

Lemma restrict_interleaved P D E : (forall mu nu xi, same mu (union nu xi) -> P mu <-> P nu /\ P xi) ->
  equ (restricted (fun _ _ => P) (interleaved D E)) (interleaved (restricted (fun _ _ => P) D) (restricted (fun _ _ => P) E)).
Proof.
  intros H i j mu; unfold Algebra.restricted; split.
  - intros [[i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]] K]; apply (H mu mu1 mu2 M) in K.
    exists i1, j1, i2, j2, mu1, mu2; tauto.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [[K1 P1] [[K2 P2] M]]]]]]]]]]]]; split; [|apply (H mu mu1 mu2 M); auto].
    exists i1, j1, i2, j2, mu1, mu2; auto 9.
Qed.

(* --- UNLESS --------------------------------------------------------------------------------------------------------- *)

(** Wherever E has a valuation, F has one inside. *)
Definition occurs_in (F E : meanings) : Prop := forall i j nu, E i j nu -> exists i' j' nu', i <= i' /\ i' <= j' /\ j' <= j /\ F i' j' nu'.

Lemma clear_occurs E F i j mu nu : occurs_in F E -> clear F i j mu -> clear E i j nu.
Proof.
  intros O H i' j' xi L1 L2 L3 K; destruct (O i' j' xi K) as [a [b [rho [M1 [M2 [M3 N]]]]]]; apply (H a b rho); auto; lia.
Qed.

Lemma unless_same D E F : occurs_in F E -> occurs_in E F -> equ (restricted (clear E) D) (restricted (clear F) D).
Proof. intros O O' i j mu; unfold Algebra.restricted; split; intros [K H]; (split; [exact K|]); eapply clear_occurs; eauto. Qed.

Lemma occurs_sub E F : good E -> sub E F -> occurs_in F E.
Proof. intros G H i j nu K; exists i, j, nu; pose proof (good_order var E G i j nu K); auto. Qed.

Lemma occurs_iter join D : joining var join -> good D -> occurs_in D (iterated join D).
Proof.
  intros J G i j nu K; destruct (iter_first var join J D i j nu G K) as [k [xi [L M]]]; exists i, k, xi.
  pose proof (good_order var D G i k xi M); auto.
Qed.

Lemma occurs_mapped f D : good D -> occurs_in D (mapped f D).
Proof. intros G i j mu [nu [K _]]; exists i, j, nu; pose proof (good_order var D G i j nu K); auto. Qed.

Lemma mapped_occurs f D : good D -> occurs_in (mapped f D) D.
Proof.
  intros G i j mu K; exists i, j, (f mu); pose proof (good_order var D G i j mu K); repeat (split; [auto|]); exists mu; split; [exact K|reflexivity].
Qed.

Lemma nothing_inside D : good D -> equ (restricted (clear D) D) (fun _ _ _ => False).
Proof.
  intros G i j mu; split; [|tauto]; intros [K H]; apply (H i j mu); auto; eapply good_order; eauto.
Qed.

(** One event lies in one of the two parts. *)
Lemma clear_event S C i j mu : clear (meaning S (Event event var C)) i j mu <-> forall p, i <= p <= j -> type_of (S p) <> C.
Proof.
  unfold Algebra.clear; cbn; split.
  - intros H p L E; apply (H p p (fun A q => A = C /\ q = p)); [lia|lia|lia|]; split; [lia|]; split; [exact E|]; intros A q; tauto.
  - intros H i' j' nu L1 L2 L3 [_ [E _]]; apply (H j'); auto; lia.
Qed.

Lemma event_additive S C : additive (clear (meaning S (Event event var C))).
Proof.
  intros i k j mu mu1 mu2 L _ _ _; rewrite !clear_event; split.
  - intros H; split; intros p K; apply H; lia.
  - intros [H1 H2] p K; destruct (Nat.le_gt_cases p k); [apply H1|apply H2]; lia.
Qed.

(* --- STRICT --------------------------------------------------------------------------------------------------------- *)

Definition is_unbroken : property := fun _ _ => unbroken.

Lemma unbroken_same mu nu : same mu nu -> unbroken mu -> unbroken nu.
Proof. intros H K p q r; rewrite <- !H; apply K. Qed.

Lemma unbroken_union mu1 mu2 k : last mu1 k -> first mu2 (k + 1) -> unbroken (union mu1 mu2) <-> unbroken mu1 /\ unbroken mu2.
Proof.
  intros [P1 Q1] [P2 Q2]; unfold Algebra.unbroken; setoid_rewrite sup_union; split.
  - intros H; split; intros p q r Hp Hr L.
    + destruct (H p q r) as [K|K]; auto; apply Q2 in K; apply Q1 in Hr; lia.
    + destruct (H p q r) as [K|K]; auto; apply Q1 in K; apply Q2 in Hp; lia.
  - intros [H1 H2] p q r [Hp|Hp] [Hr|Hr] L; eauto.
    + destruct (lt_eq_lt_dec q k) as [[M|M]|M]; [left; apply (H1 p q k); auto; lia|subst; auto|].
      right; destruct (Nat.eq_dec q (k + 1)) as [->|N]; [exact P2|]; apply (H2 (k + 1) q r); auto; lia.
    + apply Q2 in Hp; apply Q1 in Hr; lia.
Qed.

Lemma strict_contiguous D E : equ (restricted is_unbroken (contiguous D E)) (contiguous (restricted is_unbroken D) (restricted is_unbroken E)).
Proof.
  intros i j mu; unfold Algebra.restricted, is_unbroken; split.
  - intros [[k [mu1 [mu2 [L [K1 [K2 [B [C M]]]]]]]] U]; apply (unbroken_same mu _ M), (unbroken_union mu1 mu2 k B C) in U.
    exists k, mu1, mu2; tauto.
  - intros [k [mu1 [mu2 [L [[K1 U1] [[K2 U2] [B [C M]]]]]]]]; split; [exists k, mu1, mu2; auto 7|].
    apply (unbroken_same (union mu1 mu2)); [symmetry; exact M|]; apply (unbroken_union mu1 mu2 k B C); auto.
Qed.

Lemma strict_contiguous_plus D : good D -> equ (restricted is_unbroken (iterated contiguous D)) (iterated contiguous (restricted is_unbroken D)).
Proof.
  intros G; apply through_iter; auto using contiguous_joining; [intros; apply restrict_sup|intros; apply strict_contiguous].
Qed.

(** All valuations bind a position. *)
Definition binding (D : meanings) : Prop := forall i j mu, D i j mu -> exists p, sup mu p.

(** Neighbouring parts of an unbroken whole meet; for this sup(mu) must be decidable, and have a first and a last position. *)
Definition bounded (D : meanings) : Prop := forall i j mu p, D i j mu -> sup mu p -> (exists a, first mu a) /\ exists b, last mu b.

Lemma strict_sequenced D E : good D -> good E -> binding D -> binding E -> bounded D -> bounded E ->
  equ (restricted is_unbroken (sequenced D E)) (contiguous (restricted is_unbroken D) (restricted is_unbroken E)).
Proof.
  intros GD GE BD BE FD FE; rewrite <- strict_contiguous; apply equ_sub.
  - intros i j mu [[k [mu1 [mu2 [L [K1 [K2 M]]]]]] U]; split; [|exact U].
    destruct (BD _ _ _ K1) as [p Hp], (BE _ _ _ K2) as [q Hq].
    destruct (FD _ _ _ p K1 Hp) as [_ [b [B1 B2]]], (FE _ _ _ q K2 Hq) as [[a [A1 A2]] _].
    pose proof (sup_range var D i k mu1 b GD K1 B1) as R1; pose proof (sup_range var E (k + 1) j mu2 a GE K2 A1) as R2.
    unfold is_unbroken in U; apply (unbroken_same mu _ M) in U.
    assert (b = k).
    { destruct (Nat.eq_dec b k) as [E'|N]; [exact E'|exfalso]; specialize (U b k a); rewrite !sup_union in U.
      destruct U as [U|U]; auto; [lia|apply B2 in U; lia|apply A2 in U; lia]. }
    assert (a = k + 1).
    { destruct (Nat.eq_dec a (k + 1)) as [E'|N]; [exact E'|exfalso]; specialize (U b (k + 1) a); rewrite !sup_union in U.
      destruct U as [U|U]; auto; [lia|apply B2 in U; lia|apply A2 in U; lia]. }
    subst; exists k, mu1, mu2; repeat (split; [assumption|]); split; [split; assumption|]; split; [split; assumption|exact M].
  - intros i j mu [K U]; split; [apply contiguous_sequenced, K|exact U].
Qed.

End Distribute.
