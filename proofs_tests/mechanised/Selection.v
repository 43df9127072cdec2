(** What the laws of STRICT, NXT, LAST and MAX need beside Strategies.v: how the three orders go together. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge Exec Algebra Distribute Rules Strategies.

Section Selection.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Load Names.
Notation lies := (lies var).
Notation chosen := (chosen var).
Notation cofinal less := (cofinal var less).
Notation matches := (matches event var type_of).
Notation equal_events := (equal_events event var type_of).

(** Two valuations of a formula, from i to j, as sets of positions that are given as lists of Booleans. *)
Lemma shapes S phi psi i j mu nu : meaning S phi i j mu -> meaning S psi i j nu ->
  exists s r, length s = length r /\ agree (sup mu) (at_marks i s) /\ agree (sup nu) (at_marks i r).
Proof.
  intros H K; apply (meaning_word event var type_of var_dec) in H; apply (meaning_word event var type_of var_dec) in K.
  destruct H as [w [_ [_ [L A]]]], K as [u [_ [_ [M B]]]]; exists (shape event var w), (shape event var u).
  split; [apply shape_same_length; congruence|auto].
Qed.

Definition linear (less : positions -> positions -> Prop) : Prop := forall S phi psi i j mu nu, meaning S phi i j mu -> meaning S psi i j nu ->
  less (sup mu) (sup nu) \/ agree (sup mu) (sup nu) \/ less (sup nu) (sup mu).

Lemma next_linear : linear next_less.
Proof.
  intros S phi psi i j mu nu H K; destruct (shapes S phi psi i j mu nu H K) as [s [r [L [A B]]]].
  destruct (next_better s r) eqn:E.
  - left; eapply (less_agree _ _ next_order); [apply agree_sym, A|apply agree_sym, B|]; apply (next_decided s r i L), E.
  - apply (next_shapes s r i L) in E; right; destruct E as [E|E]; [left|right].
    + intros p; rewrite (A p), (B p), (E p); tauto.
    + eapply (less_agree _ _ next_order); [apply agree_sym, B|apply agree_sym, A|exact E].
Qed.

Lemma last_linear : linear last_less.
Proof.
  intros S phi psi i j mu nu H K; destruct (shapes S phi psi i j mu nu H K) as [s [r [L [A B]]]].
  destruct (last_better false s r) eqn:E.
  - left; eapply (less_agree _ _ last_order); [apply agree_sym, A|apply agree_sym, B|]; apply (last_decided s r i L), E.
  - apply (last_most_shapes s r i L) in E; right; destruct E as [E|E]; [left|right].
    + intros p; rewrite (A p), (B p), (E p); tauto.
    + eapply (less_agree _ _ last_order); [apply agree_sym, B|apply agree_sym, A|exact E].
Qed.

(* --- the clauses ---------------------------------------------------------------------------------------------------- *)

Lemma max_clause S phi : equ (meaning S (Max _ _ phi)) (chosen below (meaning S phi)).
Proof. reflexivity. Qed.

Lemma next_clause S phi : equ (meaning S (Next _ _ phi)) (chosen next_less (meaning S phi)).
Proof.
  intros i j mu; cbn; unfold Strategies.chosen; split; intros [K N]; (split; [exact K|]); intros nu L.
  - intros H; apply (next_less_most _ _ H), N, L.
  - destruct (next_linear S phi phi i j mu nu K L) as [H|[H|H]]; [destruct (N nu L H)|left; apply agree_sym, H|right; exact H].
Qed.

Lemma last_clause S phi : equ (meaning S (Last _ _ phi)) (chosen last_less (meaning S phi)).
Proof.
  intros i j mu; cbn; unfold Strategies.chosen; split; intros [K N]; (split; [exact K|]); intros nu L.
  - intros H; apply (last_less_most _ _ H), N, L.
  - destruct (last_linear S phi phi i j mu nu K L) as [H|[H|H]]; [destruct (N nu L H)|left; apply agree_sym, H|right; exact H].
Qed.

#[export] Instance chosen_proper less : Proper (equ ==> equ) (chosen less).
Proof. intros D E H; apply chosen_equ, H. Qed.

(* --- two orders ----------------------------------------------------------------------------------------------------- *)

(** What includes more is not less. *)
Definition above_inclusion (less : positions -> positions -> Prop) : Prop := forall C1 C2, below C1 C2 -> ~ less C2 C1.

Lemma next_above_inclusion : above_inclusion next_less.
Proof. intros C1 C2 [H _] [p [P [N _]]]; auto. Qed.
Lemma last_above_inclusion : above_inclusion last_less.
Proof. intros C1 C2 [H _] [p [P [N _]]]; auto. Qed.

Section Two.

Variable less : positions -> positions -> Prop.
Variable better : list bool -> list bool -> bool.
Variable O : order less better.
Variable less_linear : linear less.

(** What is chosen in a linear order is one complex event, of which another order chooses all. *)
Lemma chosen_one less' better' S phi : order less' better' -> equ (chosen less' (chosen less (meaning S phi))) (chosen less (meaning S phi)).
Proof.
  intros O' i j mu; split; [apply chosen_sub|]; intros [K N]; split; [split; assumption|]; intros nu [L M] H.
  destruct (less_linear S phi phi i j mu nu K L) as [X|[X|X]]; [apply (N nu L X)| |apply (M mu K X)].
  apply (less_irreflexive _ _ O' (sup nu)); eapply (less_agree _ _ O'); [exact X|intros p; apply iff_refl|exact H].
Qed.

Variable inclusion : above_inclusion less.

Lemma below_less S phi psi i j mu nu : meaning S phi i j mu -> meaning S psi i j nu -> below (sup mu) (sup nu) -> less (sup mu) (sup nu).
Proof.
  intros K L H; destruct (less_linear S phi psi i j mu nu K L) as [X|[X|X]]; [exact X| |destruct (inclusion _ _ H X)].
  destruct H as [_ [p [P N]]]; destruct N; apply X, P.
Qed.

Lemma chosen_below_max S phi : sub (chosen less (meaning S phi)) (chosen below (meaning S phi)).
Proof. intros i j mu [K N]; split; [exact K|]; intros nu L H; apply (N nu L); eapply below_less; eauto. Qed.

Lemma chosen_of_max S phi : equ (chosen less (chosen below (meaning S phi))) (chosen less (meaning S phi)).
Proof.
  symmetry; apply (same_chosen var less better O); [apply chosen_sub| |apply chosen_below_max].
  intros i j nu K; destruct (chosen_cofinal event var type_of var_dec _ _ below_order S phi i j nu K) as [mu [M [A|A]]];
    exists mu; (split; [exact M|]); [left; exact A|right]; eapply below_less; eauto; apply M.
Qed.

End Two.

(* --- where parts meet ----------------------------------------------------------------------------------------------- *)

Lemma next_keeps_first : keeps_first var next_less.
Proof.
  intros mu nu k j L M [H _] [p [P [N A]]]; split; [|intros q Q; apply M in Q; lia].
  apply A; [|exact H]; pose proof (M p P); destruct (Nat.eq_dec p k) as [->|]; [contradiction|lia].
Qed.

Lemma last_keeps_last : keeps_last var last_less.
Proof.
  intros mu nu i k L M [H _] [p [P [N A]]]; split; [|intros q Q; apply M in Q; lia].
  apply A; [|exact H]; pose proof (M p P); destruct (Nat.eq_dec p k) as [->|]; [contradiction|lia].
Qed.

Lemma below_keeps_first : keeps_first var below.
Proof. intros mu nu k j L M [H _] [A _]; split; [apply A, H|intros q Q; apply M in Q; lia]. Qed.

Lemma below_keeps_last : keeps_last var below.
Proof. intros mu nu i k L M [H _] [A _]; split; [apply A, H|intros q Q; apply M in Q; lia]. Qed.

Lemma start_chosen less D : keeps_first var less -> good D -> equ (restricted (at_first var) (chosen less D)) (chosen less (restricted (at_first var) D)).
Proof.
  intros K G; apply chosen_restricted; intros i j mu nu H L F Q; eapply (K mu nu i j); eauto; eapply good_lies; eauto.
Qed.

Lemma max_contiguous S phi psi : equ (chosen below (contiguous (meaning S phi) (meaning S psi)))
  (chosen below (contiguous (chosen below (meaning S phi)) (chosen below (meaning S psi)))).
Proof.
  pose proof (meaning_good event var var_dec type_of) as G.
  rewrite (chosen_contiguous_left var _ _ below_order) by
    (auto using below_keeps_last; apply (chosen_cofinal event var type_of var_dec _ _ below_order)).
  apply (chosen_contiguous_right var _ _ below_order); auto using below_keeps_first;
    [apply (chosen_good var _ _ below_order), G|apply (chosen_cofinal event var type_of var_dec _ _ below_order)].
Qed.

(** MAX of :+ in two steps: as [chosen_plus], where what is greater keeps the positions at which the rounds meet. *)
Lemma max_contiguous_plus S phi : equ (chosen below (iterated contiguous (meaning S phi)))
  (chosen below (iterated contiguous (chosen below (meaning S phi)))).
Proof.
  set (D := meaning S phi); pose proof (contiguous_joining var) as J; pose proof below_order as O.
  assert (G : good D) by apply (meaning_good event var var_dec type_of).
  assert (G' : good (chosen below D)) by apply (chosen_good var _ _ O D G).
  assert (C : cofinal below (chosen below D) D) by apply (chosen_cofinal event var type_of var_dec _ _ O).
  assert (LA : forall E i j mu, good E -> E i j mu -> lies mu i j) by (intros E i j mu; apply good_lies).
  assert (BL : forall mu nu i k, lies mu i k -> lies nu i k -> last mu k -> at_most below (sup mu) (sup nu) -> last nu k).
  { intros mu nu i k L M B [A|A]; [split; [apply A, B|intros q X; apply B, A, X]|apply (below_keeps_last mu nu i k); assumption]. }
  assert (BF : forall mu nu k j, lies mu k j -> lies nu k j -> first mu k -> at_most below (sup mu) (sup nu) -> first nu k).
  { intros mu nu k j L M B [A|A]; [split; [apply A, B|intros q X; apply B, A, X]|apply (below_keeps_first mu nu k j); assumption]. }
  apply (same_chosen var _ _ O).
  - apply iter_mono; [exact J|apply chosen_sub].
  - assert (H : forall n, cofinal below (rounds var contiguous (chosen below D) n) (rounds var contiguous D n)).
    { induction n as [|n IH]; cbn; [exact C|]; intros i j nu [k [nu1 [nu2 [L [K1 [K2 [B [F M]]]]]]]].
      destruct (C _ _ _ K1) as [mu1 [M1 A1]], (IH _ _ _ K2) as [mu2 [M2 A2]]; exists (union mu1 mu2).
      pose proof (rounds_good var _ J _ n G) as Gn; pose proof (rounds_good var _ J _ n G') as Gn'.
      pose proof (LA _ _ _ _ G K1) as R1; pose proof (LA _ _ _ _ Gn K2) as R2.
      pose proof (LA _ _ _ _ G' M1) as R3; pose proof (LA _ _ _ _ Gn' M2) as R4; split.
      - exists k, mu1, mu2; repeat (split; [assumption|]); split; [apply (BL nu1 mu1 i k); assumption|].
        split; [apply (BF nu2 mu2 (k + 1) j); assumption|reflexivity].
      - apply (at_most_union var _ _ O nu nu1 mu1 nu2 mu2 i k j); assumption. }
    intros i j nu [n K]; destruct (H n i j nu K) as [mu [M A]]; exists mu; split; [exists n; exact M|exact A].
  - assert (H : forall n i j mu, rounds var contiguous D n i j mu -> (forall nu, iterated contiguous D i j nu -> ~ below (sup mu) (sup nu)) ->
                rounds var contiguous (chosen below D) n i j mu).
    { induction n as [|n IH]; cbn; intros i j mu K N; [split; [exact K|]; intros nu X; apply N; exists 0; exact X|].
      destruct K as [k [mu1 [mu2 [L [K1 [K2 [B [F M]]]]]]]].
      pose proof (rounds_good var _ J _ n G) as Gn; pose proof (iter_good var _ J D G) as Gi.
      pose proof (LA _ _ _ _ G K1) as R1; pose proof (LA _ _ _ _ Gn K2) as R2.
      exists k, mu1, mu2; split; [exact L|]; split; [split; [exact K1|]|split; [apply IH; [exact K2|]|auto]].
      - intros nu1 X Q; pose proof (LA _ _ _ _ G X) as R; apply (N (union nu1 mu2)).
        + exists (Datatypes.S n); cbn; exists k, nu1, mu2; repeat (split; [assumption|]); split; [|split; [exact F|reflexivity]].
          apply (BL mu1 nu1 i k); auto; right; exact Q.
        + apply (less_union_left var _ _ O mu mu1 nu1 mu2 i k j); assumption.
      - intros nu2 X Q; pose proof (LA _ _ _ _ Gi X) as R; apply (N (union mu1 nu2)).
        + apply (iter_left var _ J D); right; exists k, mu1, nu2; repeat (split; [assumption|]); split; [|reflexivity].
          apply (BF mu2 nu2 (k + 1) j); auto; right; exact Q.
        + apply (less_union_right var _ _ O mu mu1 mu2 nu2 i k j); assumption. }
    intros i j mu [[n K] N]; exists n; apply H; assumption.
Qed.

Lemma at_marks_dec s : forall i p, at_marks i s p \/ ~ at_marks i s p.
Proof.
  induction s as [|m s IH]; intros i p; cbn; [tauto|]; destruct (IH (i + 1) p) as [H|H]; [auto|].
  destruct (Nat.eq_dec p i) as [->|N]; [|tauto]; destruct m; [auto|]; right; intros [[_ E]|K]; [discriminate|auto].
Qed.

(* --- MAX and ALL ---------------------------------------------------------------------------------------------------- *)

Lemma at_most_includes C1 C2 : at_most below C1 C2 -> forall p, C1 p -> C2 p.
Proof. intros [A|[A _]] p; [apply A|apply A]. Qed.

(** At the level of complex events: greater parts make a greater whole, in which another part may bind an event. *)
Lemma max_of_all phi psi : equal_events (Max _ _ (All _ _ phi psi)) (Max _ _ (All _ _ (Max _ _ phi) (Max _ _ psi))).
Proof.
  intros S i j C; unfold Rules.matches; split.
  - intros [mu [[[a [b [c [d [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]] N] A]].
    destruct (chosen_cofinal event var type_of var_dec _ _ below_order S phi a b mu1 K1) as [nu1 [X1 Y1]].
    destruct (chosen_cofinal event var type_of var_dec _ _ below_order S psi c d mu2 K2) as [nu2 [X2 Y2]].
    assert (IN : forall p, sup mu p -> sup (union nu1 nu2) p).
    { intros p H; apply (sup_proper var _ _ M p p eq_refl), sup_union in H; apply sup_union.
      destruct H as [H|H]; [left; revert H; apply at_most_includes, Y1|right; revert H; apply at_most_includes, Y2]. }
    assert (ALL : forall nu1 nu2, meaning S phi a b nu1 -> meaning S psi c d nu2 -> meaning S (All _ _ phi psi) i j (union nu1 nu2)).
    { intros xi1 xi2 H1 H2; exists a, b, c, d, xi1, xi2; repeat (split; [assumption|]); intros B p; tauto. }
    assert (E : agree (sup (union nu1 nu2)) (sup mu)).
    { destruct (shapes S (All _ _ phi psi) (All _ _ phi psi) i j mu (union nu1 nu2)) as [s [r [L [AS AR]]]].
      - exists a, b, c, d, mu1, mu2; auto 9.
      - apply ALL; [apply X1|apply X2].
      - destruct (max_better false s r) eqn:B.
        + exfalso; apply (N (union nu1 nu2)); [apply ALL; [apply X1|apply X2]|].
          eapply (less_agree _ _ below_order); [apply agree_sym, AS|apply agree_sym, AR|]; apply (less_decided _ _ below_order s r i L), B.
        + intros p; split; [|apply IN]; intros H; destruct (at_marks_dec s i p) as [D|D]; [apply AS, D|].
          exfalso; assert (X : below (at_marks i s) (at_marks i r)).
          { split; [intros q Q; apply AR, IN, AS, Q|]; exists p; split; [apply AR, H|exact D]. }
          apply (less_decided _ _ below_order s r i L) in X; congruence. }
    exists (union nu1 nu2); split; [split|].
    + exists a, b, c, d, nu1, nu2; repeat (split; [assumption|]); intros B p; tauto.
    + intros nu [a' [b' [c' [d' [xi1 [xi2 [M1 [M2 [I' [J' [[K1' _] [[K2' _] M']]]]]]]]]]]] H; apply (N nu).
      * exists a', b', c', d', xi1, xi2; auto 9.
      * eapply (less_agree _ _ below_order); [exact E|intros p; apply iff_refl|exact H].
    + intros p; rewrite (E p); apply A.
  - intros [mu [[[a [b [c [d [mu1 [mu2 [L1 [L2 [I [J [[K1 _] [[K2 _] M]]]]]]]]]]]] N] A]]; exists mu; split; [split|exact A].
    + exists a, b, c, d, mu1, mu2; auto 9.
    + intros nu [a' [b' [c' [d' [xi1 [xi2 [M1 [M2 [I' [J' [K1' [K2' M']]]]]]]]]]]] H.
      destruct (chosen_cofinal event var type_of var_dec _ _ below_order S phi a' b' xi1 K1') as [nu1 [X1 Y1]].
      destruct (chosen_cofinal event var type_of var_dec _ _ below_order S psi c' d' xi2 K2') as [nu2 [X2 Y2]].
      apply (N (union nu1 nu2)); [exists a', b', c', d', nu1, nu2; repeat (split; [assumption|]); intros B p; tauto|].
      assert (IN : forall p, sup nu p -> sup (union nu1 nu2) p).
      { intros p Q; apply (sup_proper var _ _ M' p p eq_refl), sup_union in Q; apply sup_union.
        destruct Q as [Q|Q]; [left; revert Q; apply at_most_includes, Y1|right; revert Q; apply at_most_includes, Y2]. }
      destruct H as [H [p [P Q]]]; split; [auto|exists p; auto].
Qed.

(* --- UNLESS ALL ----------------------------------------------------------------------------------------------------- *)

Lemma occurs_decided S phi i j : (exists nu, i <= j /\ meaning S phi i j nu) \/ forall nu, ~ meaning S phi i j nu.
Proof.
  destruct (le_lt_dec i j) as [L|L].
  - destruct (exec event var var_dec type_of phi (slice event S i (j + 1 - i))) as [|w ws] eqn:E.
    + right; intros nu K; apply (meaning_word event var type_of var_dec) in K; destruct K as [w [I _]]; rewrite E in I; destruct I.
    + left; exists (val event var i w); split; [exact L|]; apply (word_meaning event var type_of var_dec S phi i j w L).
      rewrite E; left; reflexivity.
  - right; intros nu K; pose proof (good_order var _ (meaning_good event var var_dec type_of S phi) _ _ _ K); lia.
Qed.

Lemma search (P : nat -> Prop) m : (forall n, P n \/ ~ P n) -> (exists n, n <= m /\ P n) \/ forall n, n <= m -> ~ P n.
Proof.
  intros D; induction m as [|m IH].
  - destruct (D 0) as [H|H]; [left; exists 0; auto|right; intros n L; replace n with 0 by lia; exact H].
  - destruct IH as [[n [L H]]|IH]; [left; exists n; auto|]; destruct (D (Datatypes.S m)) as [H|H]; [left; eauto|].
    right; intros n L; destruct (Nat.eq_dec n (Datatypes.S m)) as [->|N]; [exact H|apply IH; lia].
Qed.

Lemma clear_decided S phi i j mu : clear (meaning S phi) i j mu \/ exists i' j' nu, i <= i' /\ i' <= j' /\ j' <= j /\ meaning S phi i' j' nu.
Proof.
  set (P := fun j' i' => i <= i' /\ exists nu, meaning S phi i' j' nu).
  assert (D : forall j' i', P j' i' \/ ~ P j' i').
  { intros j' i'; unfold P; destruct (le_lt_dec i i') as [L|L]; [|right; intros [H _]; lia].
    destruct (occurs_decided S phi i' j') as [[nu [_ H]]|H]; [left; eauto|right; intros [_ [nu K]]; apply (H nu K)]. }
  assert (D' : forall j', (exists i', i' <= j' /\ P j' i') \/ ~ exists i', i' <= j' /\ P j' i').
  { intros j'; destruct (search (P j') j' (D j')) as [H|H]; [left; exact H|right; intros [i' [L K]]; apply (H i' L K)]. }
  destruct (search _ j D') as [[j' [L [i' [M [N [nu K]]]]]]|H].
  - right; exists i', j', nu; auto.
  - left; intros i' j' nu L M N K; apply (H j' N); exists i'; split; [exact M|split; [exact L|exists nu; exact K]].
Qed.

Lemma unless_all S phi psi D : equ (restricted (clear (interleaved (meaning S phi) (meaning S psi))) D)
  (either (restricted (clear (meaning S phi)) D) (restricted (clear (meaning S psi)) D)).
Proof.
  intros i j mu; unfold Algebra.either, Algebra.restricted; split.
  - intros [K H]; destruct (clear_decided S phi i j mu) as [C|[a [b [nu1 [L1 [L2 [L3 H1]]]]]]]; [auto|]; right; split; [exact K|].
    intros c d nu2 M1 M2 M3 H2; apply (H (min a c) (max b d) (union nu1 nu2)); try lia.
    exists a, b, c, d, nu1, nu2; repeat (split; [first [assumption | lia]|]); intros A p; tauto.
  - intros [[K H]|[K H]]; (split; [exact K|]); intros i' j' nu L1 L2 L3 [a [b [c [d [nu1 [nu2 [M1 [M2 [I [J [H1 [H2 _]]]]]]]]]]]];
      [apply (H a b nu1)|apply (H c d nu2)]; auto; lia.
Qed.

(* --- STRICT --------------------------------------------------------------------------------------------------------- *)

Lemma ends_of_marks s : forall i p, at_marks i s p ->
  (exists a, at_marks i s a /\ forall q, at_marks i s q -> a <= q) /\ exists b, at_marks i s b /\ forall q, at_marks i s q -> q <= b.
Proof.
  induction s as [|m s IH]; intros i p; cbn; [tauto|]; intros H.
  assert (D : (exists q, at_marks (i + 1) s q) \/ forall q, ~ at_marks (i + 1) s q).
  { clear; generalize (i + 1); induction s as [|m s IH]; intros k; cbn; [right; auto|].
    destruct m; [left; exists k; auto|]; destruct (IH (k + 1)) as [[q Q]|N]; [left; eauto|right; intros q [[_ E]|Q]; [discriminate|apply (N q Q)]]. }
  destruct D as [[q Q]|N].
  - destruct (IH (i + 1) q Q) as [[a [A1 A2]] [b [B1 B2]]]; split.
    + destruct m; [exists i|exists a]; (split; [auto|]); intros r [[-> E]|R]; auto; [apply at_marks_after in R; lia|discriminate].
    + exists b; split; [auto|]; intros r [[-> E]|R]; auto; apply at_marks_after in B1; lia.
  - destruct H as [[-> E]|H]; [|destruct (N p H)]; split; exists i; (split; [auto|]); intros r [[-> _]|R]; auto; destruct (N r R).
Qed.

Lemma meaning_bounded S phi : bounded var (meaning S phi).
Proof.
  intros i j mu p K H; apply (meaning_word event var type_of var_dec) in K; destruct K as [w [_ [_ [_ A]]]].
  apply A in H; apply ends_of_marks in H; destruct H as [[a [A1 A2]] [b [B1 B2]]]; split; [exists a|exists b];
    (split; [apply A; assumption|]); intros q Q; apply A in Q; auto.
Qed.

Lemma binding_sequenced D E : binding var D -> binding var (sequenced D E).
Proof.
  intros B i j mu [k [mu1 [mu2 [L [K1 [_ M]]]]]]; destruct (B _ _ _ K1) as [p P]; exists p.
  apply (sup_proper var _ _ M p p eq_refl), sup_union; auto.
Qed.

Lemma bounded_sequenced D E : good D -> good E -> binding var D -> binding var E -> bounded var D -> bounded var E -> bounded var (sequenced D E).
Proof.
  intros GD GE BD BE FD FE i j mu p [k [mu1 [mu2 [L [K1 [K2 M]]]]]] _.
  destruct (BD _ _ _ K1) as [q Q], (BE _ _ _ K2) as [r R].
  destruct (FD _ _ _ q K1 Q) as [[a [A1 A2]] _], (FE _ _ _ r K2 R) as [_ [b [B1 B2]]].
  pose proof (sup_split var mu mu1 mu2 M) as X; split; [exists a|exists b]; (split; [apply X; unfold above; auto|]); intros s H; apply X in H;
    destruct H as [H|H]; auto.
  - pose proof (sup_range var D i k mu1 a GD K1 A1); pose proof (sup_range var E (k + 1) j mu2 s GE K2 H); lia.
  - pose proof (sup_range var D i k mu1 s GD K1 H); pose proof (sup_range var E (k + 1) j mu2 b GE K2 B1); lia.
Qed.

Lemma strict_plus D : good D -> binding var D -> bounded var D ->
  equ (restricted (is_unbroken var) (iterated sequenced D)) (iterated contiguous (restricted (is_unbroken var) D)).
Proof.
  intros G B F; pose proof (sequenced_joining var) as J.
  assert (H : forall n, binding var (rounds var sequenced D n) /\ bounded var (rounds var sequenced D n) /\
    equ (restricted (is_unbroken var) (rounds var sequenced D n)) (rounds var contiguous (restricted (is_unbroken var) D) n)).
  { induction n as [|n [IB [IF IH]]]; cbn; [split; [exact B|split; [exact F|reflexivity]]|].
    pose proof (rounds_good var _ J D n G) as Gn; split; [apply binding_sequenced, B|]; split; [apply bounded_sequenced; assumption|].
    rewrite strict_sequenced by assumption; rewrite IH; reflexivity. }
  intros i j mu; split.
  - intros [[n K] U]; exists n; apply H; split; assumption.
  - intros [n K]; apply H in K; destruct K as [K U]; split; [exists n; exact K|exact U].
Qed.

Lemma only_nothing_max D : equ (chosen below (mapped (only []) D)) (mapped (only []) D).
Proof.
  intros i j mu; split; [apply chosen_sub|]; intros K; split; [exact K|]; intros nu [xi [_ M]] [_ [p [[A P] _]]].
  apply M in P; destruct P as [[] _].
Qed.

End Selection.
