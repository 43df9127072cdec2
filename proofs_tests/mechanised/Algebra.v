(** The operators of CEL as operations on meanings, and the equations between them from which the laws follow (Laws.v).

    A meaning gives the valuations between two positions, as [meaning S phi] does. Most equations are for two operators at
    once: ; and : are two ways to join meanings, IN and PROJECT map valuations, FILTER, START, STRICT, AND and UNLESS
    restrict them. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge.

Section Algebra.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation valuation := (valuation var).
Notation meanings := (meanings var).
Notation same := (same var).
Notation sup := (sup var).
Notation union := (union var).
Notation first := (first var).
Notation last := (last var).
Notation sequenced := (sequenced var).
Notation contiguous := (contiguous var).
Notation rounds := (rounds var).

Definition sub (D E : meanings) : Prop := forall i j mu, D i j mu -> E i j mu.
Definition equ (D E : meanings) : Prop := forall i j mu, D i j mu <-> E i j mu.

#[export] Instance equ_equivalence : Equivalence equ.
Proof.
  split; [intros D i j mu; tauto|intros D E H i j mu; rewrite (H i j mu); tauto|].
  intros D E F H K i j mu; rewrite (H i j mu); apply K.
Qed.

Lemma equ_sub D E : sub D E -> sub E D -> equ D E.
Proof. intros H K i j mu; split; [apply H|apply K]. Qed.

Lemma sub_refl D : sub D D. Proof. intros i j mu H; exact H. Qed.
Lemma sub_trans D E F : sub D E -> sub E F -> sub D F. Proof. intros H K i j mu M; apply K, H, M. Qed.
Lemma equ_left D E : equ D E -> sub D E. Proof. intros H i j mu; apply H. Qed.
Lemma equ_right D E : equ D E -> sub E D. Proof. intros H i j mu; apply H. Qed.

(** A meaning does not tell apart valuations that are the same, and a valuation binds positions of its interval. *)
Record good (D : meanings) : Prop := {
  good_same : forall i j mu nu, same mu nu -> D i j mu -> D i j nu;
  good_order : forall i j mu, D i j mu -> i <= j;
  good_range : forall i j mu A p, D i j mu -> mu A p -> i <= p <= j
}.

(* --- the operations ------------------------------------------------------------------------------------------------- *)

Definition either (D E : meanings) : meanings := fun i j mu => D i j mu \/ E i j mu.
Definition restricted (P : nat -> nat -> valuation -> Prop) (D : meanings) : meanings := fun i j mu => D i j mu /\ P i j mu.
Definition mapped (f : valuation -> valuation) (D : meanings) : meanings := fun i j mu => exists nu, D i j nu /\ same mu (f nu).
Definition iterated (join : meanings -> meanings -> meanings) (D : meanings) : meanings := fun i j mu => exists n, rounds join D n i j mu.
Definition interleaved (D E : meanings) : meanings := fun i j mu => exists i1 j1 i2 j2 mu1 mu2,
  i1 <= j1 /\ i2 <= j2 /\ i = min i1 i2 /\ j = max j1 j2 /\ D i1 j1 mu1 /\ E i2 j2 mu2 /\ same mu (union mu1 mu2).

(** Nothing of E inside the interval. *)
Definition clear (E : meanings) : nat -> nat -> valuation -> Prop := fun i j _ =>
  forall i' j' nu, i <= i' -> i' <= j' -> j' <= j -> ~ E i' j' nu.

Definition bound_as (A : var) (nu : valuation) : valuation := fun B p => (B <> A /\ nu B p) \/ (B = A /\ sup nu p).
Definition only (L : list var) (nu : valuation) : valuation := fun A p => In A L /\ nu A p.
Definition unbroken (mu : valuation) : Prop := forall p q r, sup mu p -> sup mu r -> p < q < r -> sup mu q.

(* --- sets of positions ---------------------------------------------------------------------------------------------- *)

#[export] Instance same_equivalence : Equivalence same.
Proof.
  split; [intros mu A p; tauto|intros mu nu H A p; rewrite (H A p); tauto|].
  intros mu nu xi H K A p; rewrite (H A p); apply K.
Qed.

#[export] Instance union_proper : Proper (same ==> same ==> same) union.
Proof. intros mu mu' H nu nu' K A p; unfold Cel.union; rewrite (H A p), (K A p); tauto. Qed.

Lemma sup_union mu nu p : sup (union mu nu) p <-> sup mu p \/ sup nu p.
Proof. unfold Cel.sup, Cel.union; firstorder. Qed.

#[export] Instance sup_proper : Proper (same ==> eq ==> iff) sup.
Proof. intros mu nu H p q <-; unfold Cel.sup; split; intros [A K]; exists A; apply H, K. Qed.

#[export] Instance first_proper : Proper (same ==> eq ==> iff) first.
Proof. intros mu nu H p q <-; unfold Cel.first; setoid_rewrite H; tauto. Qed.

#[export] Instance last_proper : Proper (same ==> eq ==> iff) last.
Proof. intros mu nu H p q <-; unfold Cel.last; setoid_rewrite H; tauto. Qed.

Lemma union_assoc mu nu xi : same (union (union mu nu) xi) (union mu (union nu xi)).
Proof. intros A p; unfold Cel.union; tauto. Qed.

Lemma union_comm mu nu : same (union mu nu) (union nu mu).
Proof. intros A p; unfold Cel.union; tauto. Qed.

Lemma sup_range D i j mu p : good D -> D i j mu -> sup mu p -> i <= p <= j.
Proof. intros G H [A K]; eapply good_range; eauto. Qed.

(** The first position of a union whose parts lie one after the other, and its last. *)
Lemma first_union mu nu i k : i <= k -> (forall p, sup mu p -> i <= p <= k) -> (forall p, sup nu p -> k < p) ->
  first (union mu nu) i <-> first mu i.
Proof.
  intros L H K; unfold Cel.first; split; intros [P Q]; rewrite sup_union in *.
  - destruct P as [P|P]; [|apply K in P; lia]; split; [exact P|]; intros q R; apply H in R; lia.
  - split; [auto|]; intros q R; apply sup_union in R; destruct R as [R|R]; [apply Q, R|apply K in R; lia].
Qed.

Lemma last_union mu nu j k : k < j -> (forall p, sup mu p -> p <= k) -> (forall p, sup nu p -> k < p <= j) ->
  last (union mu nu) j <-> last nu j.
Proof.
  intros L H K; unfold Cel.last; split; intros [P Q]; rewrite sup_union in *.
  - destruct P as [P|P]; [apply H in P; lia|]; split; [exact P|]; intros q R; apply K in R; lia.
  - split; [auto|]; intros q R; apply sup_union in R; destruct R as [R|R]; [apply H in R; lia|apply Q, R].
Qed.

(* --- what ; and : have in common ------------------------------------------------------------------------------------- *)

Record joining (join : meanings -> meanings -> meanings) : Prop := {
  join_mono : forall D D' E E', sub D D' -> sub E E' -> sub (join D E) (join D' E');
  join_good : forall D E, good D -> good E -> good (join D E);
  join_assoc : forall D E F, good D -> good E -> good F -> equ (join (join D E) F) (join D (join E F));
  join_sup_l : forall (D : nat -> meanings) E, equ (join (fun i j mu => exists n, D n i j mu) E) (fun i j mu => exists n, join (D n) E i j mu);
  join_sup_r : forall D (E : nat -> meanings), equ (join D (fun i j mu => exists n, E n i j mu)) (fun i j mu => exists n, join D (E n) i j mu);
  join_or_l : forall D D' E, equ (join (either D D') E) (either (join D E) (join D' E));
  join_or_r : forall D E E', equ (join D (either E E')) (either (join D E) (join D E'));
  join_parts : forall D E i j mu, join D E i j mu -> exists k mu1 mu2, i <= k < j /\ D i k mu1 /\ E (k + 1) j mu2
}.

Ltac break := repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  | H : exists _, _ |- _ => destruct H
  end.

Lemma sequenced_joining : joining sequenced.
Proof.
  split.
  - intros D D' E E' H K i j mu [k [mu1 [mu2 [L [P [Q M]]]]]]; exists k, mu1, mu2; auto.
  - intros D E G G'; split.
    + intros i j mu nu H [k [mu1 [mu2 [L [P [Q M]]]]]]; exists k, mu1, mu2; repeat split; auto; try lia;
        intros J; apply M, H || apply H, M; exact J.
    + intros i j mu [k [mu1 [mu2 [L _]]]]; lia.
    + intros i j mu A p [k [mu1 [mu2 [L [P [Q M]]]]]] H; apply M in H; destruct H as [H|H].
      * apply (good_range D G i k mu1) in H; auto; lia.
      * apply (good_range E G' (k + 1) j mu2) in H; auto; lia.
  - intros D E F _ _ _ i j mu; split.
    + intros [k [mu1 [mu2 [L [[k' [nu1 [nu2 [L' [P [Q M]]]]]] [R N]]]]]]; exists k', nu1, (union nu2 mu2).
      split; [lia|]; split; [exact P|]; split; [exists k, nu2, mu2; repeat split; auto; try lia; tauto|].
      rewrite N, M; apply union_assoc.
    + intros [k [mu1 [mu2 [L [P [[k' [nu1 [nu2 [L' [Q [R M]]]]]] N]]]]]]; exists k', (union mu1 nu1), nu2.
      split; [lia|]; split; [exists k, mu1, nu1; repeat split; auto; try lia; tauto|]; split; [exact R|].
      rewrite N, M; symmetry; apply union_assoc.
  - intros D E i j mu; unfold Cel.sequenced; split.
    + intros [k [mu1 [mu2 [L [[n P] H]]]]]; exists n, k, mu1, mu2; auto.
    + intros [n [k [mu1 [mu2 [L [P H]]]]]]; exists k, mu1, mu2; eauto.
  - intros D E i j mu; unfold Cel.sequenced; split.
    + intros [k [mu1 [mu2 [L [P [[n Q] H]]]]]]; exists n, k, mu1, mu2; auto.
    + intros [n [k [mu1 [mu2 [L [P [Q H]]]]]]]; exists k, mu1, mu2; eauto 6.
  - intros D D' E i j mu; unfold Cel.sequenced, either; split.
    + intros [k [mu1 [mu2 [L [[P|P] H]]]]]; [left|right]; exists k, mu1, mu2; auto.
    + intros [[k [mu1 [mu2 [L [P H]]]]]|[k [mu1 [mu2 [L [P H]]]]]]; exists k, mu1, mu2; auto.
  - intros D E E' i j mu; unfold Cel.sequenced, either; split.
    + intros [k [mu1 [mu2 [L [P [[Q|Q] H]]]]]]; [left|right]; exists k, mu1, mu2; auto.
    + intros [[k [mu1 [mu2 [L [P [Q H]]]]]]|[k [mu1 [mu2 [L [P [Q H]]]]]]]; exists k, mu1, mu2; auto.
  - intros D E i j mu [k [mu1 [mu2 [L [P [Q _]]]]]]; exists k, mu1, mu2; auto.
Qed.

Lemma contiguous_joining : joining contiguous.
Proof.
  split.
  - intros D D' E E' H K i j mu [k [mu1 [mu2 [L [P [Q M]]]]]]; exists k, mu1, mu2; auto.
  - intros D E G G'; split.
    + intros i j mu nu H [k [mu1 [mu2 [L [P [Q [B [C M]]]]]]]]; exists k, mu1, mu2; repeat (split; [assumption|]); rewrite <- H; exact M.
    + intros i j mu [k [mu1 [mu2 [L _]]]]; lia.
    + intros i j mu A p [k [mu1 [mu2 [L [P [Q [_ [_ M]]]]]]]] H; apply M in H; destruct H as [H|H].
      * apply (good_range D G i k mu1) in H; auto; lia.
      * apply (good_range E G' (k + 1) j mu2) in H; auto; lia.
  - intros D E F GD GE GF i j mu; split.
    + intros [k [mu1 [mu2 [L [[k' [nu1 [nu2 [L' [P [Q [B [C M]]]]]]]] [R [B' [C' N]]]]]]]]; exists k', nu1, (union nu2 mu2).
      assert (R1 : forall p, sup nu1 p -> i <= p <= k') by (intros p; apply (sup_range D); auto).
      assert (R2 : forall p, sup nu2 p -> k' + 1 <= p <= k) by (intros p; apply (sup_range E); auto).
      assert (R3 : forall p, sup mu2 p -> k + 1 <= p <= j) by (intros p; apply (sup_range F); auto).
      split; [lia|]; split; [exact P|]; split.
      { exists k, nu2, mu2; repeat (split; [first [assumption | lia]|]); split; [|split; [exact C'|reflexivity]].
        rewrite M in B'; revert B'; apply last_union with (k := k'); [lia|intros p H; apply R1 in H; lia|intros p H; apply R2 in H; lia]. }
      split; [exact B|]; split; [|rewrite N, M; apply union_assoc].
      apply first_union with (k := k); auto; [lia|intros p H; apply R3 in H; lia].
    + intros [k [mu1 [mu2 [L [P [[k' [nu1 [nu2 [L' [Q [R [B [C M]]]]]]]] [B' [C' N]]]]]]]]; exists k', (union mu1 nu1), nu2.
      assert (R1 : forall p, sup mu1 p -> i <= p <= k) by (intros p; apply (sup_range D); auto).
      assert (R2 : forall p, sup nu1 p -> k + 1 <= p <= k') by (intros p; apply (sup_range E); auto).
      assert (R3 : forall p, sup nu2 p -> k' + 1 <= p <= j) by (intros p; apply (sup_range F); auto).
      split; [lia|]; split.
      { exists k, mu1, nu1; repeat (split; [first [assumption | lia]|]); split; [|reflexivity].
        rewrite M in C'; revert C'; apply first_union with (k := k'); [lia|exact R2|intros p H; apply R3 in H; lia]. }
      split; [exact R|]; split; [|split; [exact C|rewrite N, M; symmetry; apply union_assoc]].
      apply last_union with (k := k); auto; [lia|intros p H; apply R1 in H; lia|intros p H; apply R2 in H; lia].
  - intros D E i j mu; unfold Cel.contiguous; split.
    + intros [k [mu1 [mu2 [L [[n P] H]]]]]; exists n, k, mu1, mu2; auto.
    + intros [n [k [mu1 [mu2 [L [P H]]]]]]; exists k, mu1, mu2; eauto.
  - intros D E i j mu; unfold Cel.contiguous; split.
    + intros [k [mu1 [mu2 [L [P [[n Q] H]]]]]]; exists n, k, mu1, mu2; auto.
    + intros [n [k [mu1 [mu2 [L [P [Q H]]]]]]]; exists k, mu1, mu2; eauto 6.
  - intros D D' E i j mu; unfold Cel.contiguous, either; split.
    + intros [k [mu1 [mu2 [L [[P|P] H]]]]]; [left|right]; exists k, mu1, mu2; auto.
    + intros [[k [mu1 [mu2 [L [P H]]]]]|[k [mu1 [mu2 [L [P H]]]]]]; exists k, mu1, mu2; auto.
  - intros D E E' i j mu; unfold Cel.contiguous, either; split.
    + intros [k [mu1 [mu2 [L [P [[Q|Q] H]]]]]]; [left|right]; exists k, mu1, mu2; auto.
    + intros [[k [mu1 [mu2 [L [P [Q H]]]]]]|[k [mu1 [mu2 [L [P [Q H]]]]]]]; exists k, mu1, mu2; auto.
  - intros D E i j mu [k [mu1 [mu2 [L [P [Q _]]]]]]; exists k, mu1, mu2; auto.
Qed.

Lemma contiguous_sequenced D E : sub (contiguous D E) (sequenced D E).
Proof. intros i j mu [k [mu1 [mu2 [L [P [Q [_ [_ M]]]]]]]]; exists k, mu1, mu2; auto. Qed.

(** (D ; E) : F and D ; (E : F): the last event of D ; E is next to F if it is one of E. The same with : first. *)
Lemma sequenced_contiguous D E F : good D -> good E -> good F ->
  equ (contiguous (sequenced D E) F) (sequenced D (contiguous E F)).
Proof.
  intros GD GE GF i j mu; split.
  - intros [k [mu1 [mu2 [L [[k' [nu1 [nu2 [L' [P [Q M]]]]]] [R [B' [C' N]]]]]]]]; exists k', nu1, (union nu2 mu2).
    split; [lia|]; split; [exact P|]; split; [|rewrite N, M; apply union_assoc].
    exists k, nu2, mu2; repeat (split; [first [assumption | lia]|]); split; [|split; [exact C'|reflexivity]].
    rewrite M in B'; revert B'; apply last_union with (k := k'); [lia|..]; intros p H.
    + apply (sup_range D i k') in H; auto; lia.
    + apply (sup_range E (k' + 1) k) in H; auto; lia.
  - intros [k [mu1 [mu2 [L [P [[k' [nu1 [nu2 [L' [Q [R [B [C M]]]]]]]] N]]]]]]; exists k', (union mu1 nu1), nu2.
    split; [lia|]; split; [exists k, mu1, nu1; repeat (split; [first [assumption | lia]|]); reflexivity|].
    split; [exact R|]; split; [|split; [exact C|rewrite N, M; symmetry; apply union_assoc]].
    apply last_union with (k := k); auto; [lia|..]; intros p H.
    + apply (sup_range D i k) in H; auto; lia.
    + apply (sup_range E (k + 1) k') in H; auto; lia.
Qed.

Lemma contiguous_then_sequenced D E F : good D -> good E -> good F ->
  equ (sequenced (contiguous D E) F) (contiguous D (sequenced E F)).
Proof.
  intros GD GE GF i j mu; split.
  - intros [k [mu1 [mu2 [L [[k' [nu1 [nu2 [L' [P [Q [B [C M]]]]]]]] [R N]]]]]]; exists k', nu1, (union nu2 mu2).
    split; [lia|]; split; [exact P|]; split; [exists k, nu2, mu2; repeat (split; [first [assumption | lia]|]); reflexivity|].
    split; [exact B|]; split; [|rewrite N, M; apply union_assoc].
    apply first_union with (k := k); auto; [lia|..]; intros p H.
    + apply (sup_range E (k' + 1) k) in H; auto; lia.
    + apply (sup_range F (k + 1) j) in H; auto; lia.
  - intros [k [mu1 [mu2 [L [P [[k' [nu1 [nu2 [L' [Q [R M]]]]]] [B [C N]]]]]]]]; exists k', (union mu1 nu1), nu2.
    split; [lia|]; split; [|split; [exact R|rewrite N, M; symmetry; apply union_assoc]].
    exists k, mu1, nu1; repeat (split; [first [assumption | lia]|]); split; [|reflexivity].
    rewrite M in C; revert C; apply first_union with (k := k'); [lia|..]; intros p H.
    + apply (sup_range E (k + 1) k') in H; auto; lia.
    + apply (sup_range F (k' + 1) j) in H; auto; lia.
Qed.

(* --- iteration ------------------------------------------------------------------------------------------------------ *)

Section Iteration.

Variable join : meanings -> meanings -> meanings.
Variable J : joining join.

#[local] Instance join_equ : Proper (equ ==> equ ==> equ) join.
Proof.
  intros D D' H E E' K; apply equ_sub; apply (join_mono join J); first [apply equ_left; assumption | apply equ_right; assumption].
Qed.

#[local] Instance either_equ : Proper (equ ==> equ ==> equ) either.
Proof. intros D D' H E E' K i j mu; unfold either; rewrite (H i j mu), (K i j mu); tauto. Qed.

Notation iter := (iterated join).
Notation rounds := (rounds join).

Lemma rounds_good D n : good D -> good (rounds D n).
Proof. intros G; induction n; cbn; [exact G|apply (join_good join J); assumption]. Qed.

Lemma iter_good D : good D -> good (iter D).
Proof.
  intros G; split.
  - intros i j mu nu H [n K]; exists n; eapply (good_same _ (rounds_good D n G)); eauto.
  - intros i j mu [n K]; eapply (good_order _ (rounds_good D n G)); eauto.
  - intros i j mu A p [n K]; eapply (good_range _ (rounds_good D n G)); eauto.
Qed.

Lemma iter_has D : sub D (iter D). Proof. intros i j mu H; exists 0; exact H. Qed.

Lemma rounds_equ D E n : equ D E -> equ (rounds D n) (rounds E n).
Proof. intros H; induction n; cbn; [exact H|]; apply join_equ; assumption. Qed.

Lemma iter_equ D E : equ D E -> equ (iter D) (iter E).
Proof. intros H i j mu; split; intros [n K]; exists n; apply (rounds_equ D E n H), K. Qed.

Lemma rounds_mono D E n : sub D E -> sub (rounds D n) (rounds E n).
Proof. intros H; induction n; cbn; [exact H|]; apply (join_mono join J); assumption. Qed.

Lemma iter_mono D E : sub D E -> sub (iter D) (iter E).
Proof. intros H i j mu [n K]; exists n; apply (rounds_mono D E n H), K. Qed.

Lemma iter_left D : equ (iter D) (either D (join D (iter D))).
Proof.
  intros i j mu; unfold either; rewrite (join_sup_r join J D (rounds D) i j mu); split.
  - intros [[|n] K]; [left; exact K|right; exists n; exact K].
  - intros [K|[n K]]; [exists 0; exact K|exists (Datatypes.S n); exact K].
Qed.

Lemma rounds_add D n m : good D -> equ (join (rounds D n) (rounds D m)) (rounds D (Datatypes.S (n + m))).
Proof.
  intros G; induction n as [|n IH]; cbn; [reflexivity|].
  rewrite (join_assoc join J) by auto using rounds_good; apply join_equ; [reflexivity|exact IH].
Qed.

Lemma rounds_snoc D n : good D -> equ (rounds D (Datatypes.S n)) (join (rounds D n) D).
Proof. intros G; symmetry; rewrite <- (Nat.add_0_r n) at 2; apply (rounds_add D n 0 G). Qed.

Lemma iter_snoc D : good D -> equ (join D (iter D)) (join (iter D) D).
Proof.
  intros G i j mu; rewrite (join_sup_r join J D (rounds D) i j mu), (join_sup_l join J (rounds D) D i j mu).
  split; intros [n K]; exists n; apply (rounds_snoc D n G), K.
Qed.

Lemma iter_right D : good D -> equ (iter D) (either D (join (iter D) D)).
Proof. intros G; rewrite <- (iter_snoc D G); apply iter_left. Qed.

Lemma iter_add D : good D -> equ (join (iter D) (iter D)) (join D (iter D)).
Proof.
  intros G; apply equ_sub; [|apply (join_mono join J); [apply iter_has|apply sub_refl]].
  intros i j mu K; apply (join_sup_l join J) in K; destruct K as [n K]; apply (join_sup_r join J) in K; destruct K as [m K].
  apply (rounds_add D n m G) in K; apply (join_sup_r join J D (rounds D)); exists (n + m); exact K.
Qed.

Lemma iter_closed D : good D -> sub (join (iter D) (iter D)) (iter D).
Proof. intros G; eapply sub_trans; [apply equ_left, iter_add, G|]; intros i j mu K; apply iter_left; right; exact K. Qed.

Lemma iter_least D E : sub D E -> sub (join E E) E -> sub (iter D) E.
Proof.
  intros H K i j mu [n R]; revert i j mu R; induction n as [|n IH]; cbn; intros i j mu R; [apply H, R|].
  apply K; revert R; apply (join_mono join J); [exact H|exact IH].
Qed.

Lemma iter_idempotent D : good D -> equ (iter (iter D)) (iter D).
Proof. intros G; apply equ_sub; [apply iter_least; [apply sub_refl|apply iter_closed, G]|apply iter_has]. Qed.

Lemma either_good D E : good D -> good E -> good (either D E).
Proof.
  intros G G'; split.
  - intros i j mu nu H [K|K]; [left; eapply (good_same D)|right; eapply (good_same E)]; eauto.
  - intros i j mu [K|K]; [eapply (good_order D)|eapply (good_order E)]; eauto.
  - intros i j mu A p [K|K]; [eapply (good_range D)|eapply (good_range E)]; eauto.
Qed.

Lemma either_sub D E F : sub D F -> sub E F -> sub (either D E) F.
Proof. intros H K i j mu [L|L]; auto. Qed.
Lemma sub_left D E : sub D (either D E). Proof. intros i j mu; left; assumption. Qed.
Lemma sub_right D E : sub E (either D E). Proof. intros i j mu; right; assumption. Qed.

Lemma iter_or D E : good D -> good E -> equ (iter (either (iter D) (iter E))) (iter (either D E)).
Proof.
  intros G G'; apply equ_sub.
  - apply iter_least; [|apply iter_closed, either_good; assumption].
    apply either_sub; apply iter_mono; [apply sub_left|apply sub_right].
  - apply iter_mono, either_sub; eapply sub_trans; [apply iter_has|apply sub_left|apply iter_has|apply sub_right].
Qed.

Lemma iter_slides D E : good D -> good E -> equ (join (iter (join D E)) D) (join D (iter (join E D))).
Proof.
  intros G G'; intros i j mu; rewrite (join_sup_l join J (rounds (join D E)) D i j mu), (join_sup_r join J D (rounds (join E D)) i j mu).
  assert (H : forall n, equ (join (rounds (join D E) n) D) (join D (rounds (join E D) n))).
  { pose proof (join_good join J) as JG.
    induction n as [|n IH]; cbn; [apply (join_assoc join J); assumption|].
    rewrite (join_assoc join J), IH, (join_assoc join J) by auto using rounds_good.
    apply join_equ; [reflexivity|]; symmetry; apply (join_assoc join J); auto using rounds_good. }
  split; intros [n K]; exists n; apply H, K.
Qed.

Lemma iter_one_or_two D : good D -> equ (iter (either D (join D D))) (iter D).
Proof.
  intros G; apply equ_sub; [|apply iter_mono, sub_left].
  apply iter_least; [|apply iter_closed, G]; apply either_sub; [apply iter_has|].
  eapply sub_trans; [apply (join_mono join J); apply iter_has|apply iter_closed, G].
Qed.

(** An operation that goes through the join goes through its iteration; one that goes to the first part, to the first round. *)
Lemma through_iter (f : meanings -> meanings) D :
  (forall E : nat -> meanings, equ (f (fun i j mu => exists n, E n i j mu)) (fun i j mu => exists n, f (E n) i j mu)) ->
  (forall E, good E -> equ (f (join D E)) (join (f D) (f E))) ->
  good D -> equ (f (iter D)) (iter (f D)).
Proof.
  intros U H G i j mu; rewrite (U (rounds D) i j mu).
  assert (K : forall n, equ (f (rounds D n)) (rounds (f D) n)).
  { induction n as [|n IH]; cbn; [reflexivity|]; rewrite H by (apply rounds_good, G); apply join_equ; [reflexivity|exact IH]. }
  split; intros [n L]; exists n; apply K, L.
Qed.

(** The first round of an iteration begins where the iteration does. *)
Lemma iter_first D i j mu : good D -> iter D i j mu -> exists k nu, k <= j /\ D i k nu.
Proof.
  intros G [[|n] K]; [exists j, mu; auto|]; cbn in K; apply (join_parts join J) in K.
  destruct K as [k [mu1 [mu2 [L [K _]]]]]; exists k, mu1; split; [lia|exact K].
Qed.

End Iteration.

End Algebra.
