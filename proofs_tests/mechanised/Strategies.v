(** NXT, LAST and MAX as one operation: what no other valuation exceeds in an order on complex events. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge Exec Algebra Distribute Rules.

Section Strategies.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Load Names.
Notation occurs_in := (occurs_in var).
Notation lies := (lies var).

Definition positions := nat -> Prop.
Definition above (C1 C2 : positions) : positions := fun p => C1 p \/ C2 p.

(** C2 is greater than C1: the first (last) position in which they differ is one of C2; MAX has [below] of Cel.v. *)
Definition next_less (C1 C2 : positions) : Prop := exists p, C2 p /\ ~ C1 p /\ forall q, q < p -> (C1 q <-> C2 q).
Definition last_less (C1 C2 : positions) : Prop := exists p, C2 p /\ ~ C1 p /\ forall q, p < q -> (C1 q <-> C2 q).

Definition before (C : positions) (k : nat) : Prop := forall p, C p -> p <= k.
Definition after (C : positions) (k : nat) : Prop := forall p, C p -> k < p.

(** What the laws ask of an order. It is decided on sets of positions that are given as lists of Booleans. *)
Record order (less : positions -> positions -> Prop) (better : list bool -> list bool -> bool) : Prop := {
  less_agree : forall C1 C1' C2 C2', agree C1 C1' -> agree C2 C2' -> less C1 C2 -> less C1' C2';
  less_irreflexive : forall C, ~ less C C;
  less_transitive : forall C1 C2 C3, less C1 C2 -> less C2 C3 -> less C1 C3;
  less_decided : forall s r i, length s = length r -> better s r = true <-> less (at_marks i s) (at_marks i r);
  less_left : forall C1 C1' C2 k, before C1 k -> before C1' k -> after C2 k -> less C1 C1' -> less (above C1 C2) (above C1' C2);
  less_right : forall C1 C2 C2' k, before C1 k -> after C2 k -> after C2' k -> less C2 C2' -> less (above C1 C2) (above C1 C2')
}.

(** What is chosen of a meaning. *)
Definition chosen (less : positions -> positions -> Prop) (D : meanings) : meanings := fun i j mu =>
  D i j mu /\ forall nu, D i j nu -> ~ less (sup mu) (sup nu).

(* --- the three orders ----------------------------------------------------------------------------------------------- *)

Lemma next_less_most C1 C2 : next_less C1 C2 -> ~ next_at_most C2 C1.
Proof.
  intros [p [P [N H]]] [A|[q [Q [M K]]]]; [apply N, A, P|].
  destruct (lt_eq_lt_dec p q) as [[L|L]|L]; [apply N, (K p L), P|subst; auto|apply M, (H q L), Q].
Qed.

Lemma last_less_most C1 C2 : last_less C1 C2 -> ~ last_at_most C2 C1.
Proof.
  intros [p [P [N H]]] [A|[q [Q [M K]]]]; [apply N, A, P|].
  destruct (lt_eq_lt_dec p q) as [[L|L]|L]; [apply M, (H q L), Q|subst; auto|apply N, (K p L), P].
Qed.

Lemma agree_sym C1 C2 : agree C1 C2 -> agree C2 C1. Proof. intros H p; rewrite (H p); tauto. Qed.

Lemma next_better_asymmetric s : forall r, next_better s r = true -> next_better r s = false.
Proof. induction s as [|x s IH]; intros [|y r]; cbn; try discriminate; destruct x, y; cbn; auto; discriminate. Qed.

Lemma next_decided s r i : length s = length r -> next_better s r = true <-> next_less (at_marks i s) (at_marks i r).
Proof.
  intros L; split; intros H.
  - pose proof (next_better_asymmetric s r H) as K; apply (next_shapes r s i (eq_sym L)) in K; destruct K as [K|K]; [|exact K].
    exfalso; assert (N : next_better s r = false) by (apply (next_shapes s r i L); left; apply agree_sym, K); congruence.
  - destruct (next_better s r) eqn:E; [reflexivity|]; apply (next_shapes s r i L) in E; destruct (next_less_most _ _ H E).
Qed.

Lemma last_better_asymmetric s : forall r b c, b && c = false -> last_better b s r && last_better c r s = false.
Proof.
  induction s as [|x s IH]; intros [|y r] b c H; cbn; auto; apply IH; destruct x, y; cbn; auto.
Qed.

Lemma last_most_shapes s r i : length s = length r -> last_better false s r = false <-> last_at_most (at_marks i r) (at_marks i s).
Proof. intros L; rewrite (last_shapes s r false i L); unfold last_at_most; tauto. Qed.

Lemma last_decided s r i : length s = length r -> last_better false s r = true <-> last_less (at_marks i s) (at_marks i r).
Proof.
  intros L; split; intros H.
  - pose proof (last_better_asymmetric s r false false eq_refl) as K; rewrite H in K; cbn in K.
    apply (last_most_shapes r s i (eq_sym L)) in K; destruct K as [K|K]; [|exact K].
    exfalso; assert (N : last_better false s r = false) by (apply (last_most_shapes s r i L); left; apply agree_sym, K); congruence.
  - destruct (last_better false s r) eqn:E; [reflexivity|]; apply (last_most_shapes s r i L) in E; destruct (last_less_most _ _ H E).
Qed.

Lemma next_order : order next_less next_better.
Proof.
  split; unfold next_less, above, before, after.
  - intros C1 C1' C2 C2' A A' [p [P [N H]]]; exists p; rewrite <- (A p), <- (A' p); split; [exact P|]; split; [exact N|].
    intros q L; rewrite <- (A q), <- (A' q); auto.
  - intros C [p [P [N _]]]; auto.
  - intros C1 C2 C3 [p [P [N H]]] [q [Q [M K]]]; destruct (lt_eq_lt_dec p q) as [[L|L]|L].
    + exists p; rewrite <- (K p L); split; [exact P|]; split; [exact N|]; intros r R; rewrite (H r R); apply K; lia.
    + subst; contradiction.
    + exists q; split; [exact Q|]; rewrite (H q L); split; [exact M|]; intros r R; rewrite (H r); [apply K, R|lia].
  - intros s r i; apply next_decided.
  - intros C1 C1' C2 k B B' A [p [P [N H]]]; exists p; split; [auto|]; split.
    + intros [K|K]; [auto|]; apply A in K; apply B' in P; lia.
    + intros q L; rewrite (H q L); tauto.
  - intros C1 C2 C2' k B A A' [p [P [N H]]]; exists p; split; [auto|]; split.
    + intros [K|K]; [apply B in K; apply A' in P; lia|auto].
    + intros q L; rewrite (H q L); tauto.
Qed.

Lemma last_order : order last_less (last_better false).
Proof.
  split; unfold last_less, above, before, after.
  - intros C1 C1' C2 C2' A A' [p [P [N H]]]; exists p; rewrite <- (A p), <- (A' p); split; [exact P|]; split; [exact N|].
    intros q L; rewrite <- (A q), <- (A' q); auto.
  - intros C [p [P [N _]]]; auto.
  - intros C1 C2 C3 [p [P [N H]]] [q [Q [M K]]]; destruct (lt_eq_lt_dec p q) as [[L|L]|L].
    + exists q; split; [exact Q|]; rewrite (H q L); split; [exact M|]; intros r R; rewrite (H r); [apply K, R|lia].
    + subst; contradiction.
    + exists p; rewrite <- (K p L); split; [exact P|]; split; [exact N|]; intros r R; rewrite (H r R); apply K; lia.
  - intros s r i; apply last_decided.
  - intros C1 C1' C2 k B B' A [p [P [N H]]]; exists p; split; [auto|]; split.
    + intros [K|K]; [auto|]; apply A in K; apply B' in P; lia.
    + intros q L; rewrite (H q L); tauto.
  - intros C1 C2 C2' k B A A' [p [P [N H]]]; exists p; split; [auto|]; split.
    + intros [K|K]; [apply B in K; apply A' in P; lia|auto].
    + intros q L; rewrite (H q L); tauto.
Qed.

Lemma below_order : order below (max_better false).
Proof.
  split; unfold below, above, before, after.
  - intros C1 C1' C2 C2' A A' [H [p [P N]]]; split; [intros q; rewrite <- (A q), <- (A' q); apply H|].
    exists p; rewrite <- (A p), <- (A' p); auto.
  - intros C [_ [p [P N]]]; auto.
  - intros C1 C2 C3 [H [p [P N]]] [K _]; split; [auto|exists p; auto].
  - intros s r i L; rewrite (max_shapes s r false i L); split; intros [H K]; (split; [exact H|]); [destruct K as [K|K]; [discriminate|exact K]|auto].
  - intros C1 C1' C2 k B B' A [H [p [P N]]]; split; [intros q [Q|Q]; auto|exists p; split; [auto|]].
    intros [K|K]; [auto|]; apply A in K; apply B' in P; lia.
  - intros C1 C2 C2' k B A A' [H [p [P N]]]; split; [intros q [Q|Q]; auto|exists p; split; [auto|]].
    intros [K|K]; [apply B in K; apply A' in P; lia|auto].
Qed.

(* --- words of a formula: the order is decided, and something greatest exists ------------------------------------------ *)

Lemma meaning_word S phi i j mu : meaning S phi i j mu ->
  exists w, In w (exec event var var_dec type_of phi (slice event S i (j + 1 - i))) /\ same mu (val event var i w) /\
            length w = j + 1 - i /\ agree (sup mu) (at_marks i (shape event var w)).
Proof.
  intros K; apply (valuations_are_words event var var_dec type_of) in K; destruct K as [w [W [[N [O L]] M]]]; exists w.
  assert (E : length w = j + 1 - i) by (rewrite L; lia); split.
  - apply exec_is_lang; split; [exact W|]; apply over_is_slice in O; rewrite O, E; reflexivity.
  - split; [exact M|]; split; [exact E|]; intros p; rewrite <- sup_shape; apply (sup_proper var _ _ M p p eq_refl).
Qed.

Lemma word_meaning S phi i j w : i <= j -> In w (exec event var var_dec type_of phi (slice event S i (j + 1 - i))) ->
  meaning S phi i j (val event var i w) /\ length w = j + 1 - i /\ agree (sup (val event var i w)) (at_marks i (shape event var w)).
Proof.
  intros L I; apply exec_is_lang in I; destruct I as [W E].
  assert (N : length w = j + 1 - i) by (rewrite <- (length_events event var), E; apply slice_length).
  split; [|split; [exact N|intros p; apply sup_shape]].
  apply (valuations_are_words event var var_dec type_of); exists w; split; [exact W|]; split; [|apply same_refl].
  split; [intros ->; cbn in N; lia|]; split; [apply over_is_slice; rewrite E, N; reflexivity|lia].
Qed.

Lemma shape_same_length w u : length w = length u -> length (shape event var w) = length (shape event var u).
Proof. intros H; unfold Words.shape; rewrite !map_length; exact H. Qed.

Section Order.

Variable less : positions -> positions -> Prop.
Variable better : list bool -> list bool -> bool.
Variable O : order less better.

Lemma decided S phi psi i j mu nu : meaning S phi i j mu -> meaning S psi i j nu -> less (sup mu) (sup nu) \/ ~ less (sup mu) (sup nu).
Proof.
  intros H K; apply meaning_word in H; apply meaning_word in K; destruct H as [w [_ [_ [L A]]]], K as [u [_ [_ [M B]]]].
  assert (E : length (shape event var w) = length (shape event var u)) by (apply shape_same_length; congruence).
  pose proof (less_decided _ _ O _ _ i E) as D; destruct (better (shape event var w) (shape event var u)).
  - left; eapply (less_agree _ _ O); [apply agree_sym, A|apply agree_sym, B|apply D; reflexivity].
  - right; intros X; assert (false = true) by (apply D; eapply (less_agree _ _ O); eauto); discriminate.
Qed.

(** In a list something that nothing exceeds is x or greater. *)
Lemma greatest (T : Type) (P : T -> T -> Prop) (l : list T) : (forall x, ~ P x x) -> (forall x y z, P x y -> P y z -> P x z) ->
  forall x, (forall y z, In y (x :: l) -> In z (x :: l) -> P y z \/ ~ P y z) ->
  exists m, In m (x :: l) /\ (m = x \/ P x m) /\ forall y, In y (x :: l) -> ~ P m y.
Proof.
  intros I T'; induction l as [|y l IH]; intros x D.
  - exists x; split; [left; auto|]; split; [auto|]; intros y [<-|[]]; apply I.
  - destruct (IH x) as [m [M [X N]]]; [intros; apply D; cbn in *; tauto|].
    destruct (D m y) as [L|L]; [cbn in M; cbn; tauto|right; left; auto| |].
    + destruct (IH y) as [m' [M' [X' N']]]; [intros; apply D; cbn in *; tauto|].
      assert (P m m') by (destruct X' as [->|X']; eauto); exists m'; split; [cbn in *; tauto|]; split.
      * right; destruct X as [->|X]; eauto.
      * intros z [<-|[<-|Z]]; [intros Q|apply N'; left; auto|apply N'; right; exact Z].
        destruct X as [->|X]; [apply (I x); eauto|apply (I x); eauto].
    + exists m; split; [cbn in *; tauto|]; split; [exact X|]; intros z [<-|[<-|Z]]; [apply N; left; auto|exact L|apply N; right; exact Z].
Qed.

(** [at_most C C']: C is C' or less. *)
Definition at_most (C C' : positions) : Prop := agree C C' \/ less C C'.

Lemma at_most_less C1 C2 C3 : less C1 C2 -> at_most C2 C3 -> less C1 C3.
Proof.
  intros H [A|K]; [eapply (less_agree _ _ O); [intros p; apply iff_refl|exact A|exact H]|eapply (less_transitive _ _ O); eauto].
Qed.

Definition cofinal (F D : meanings) : Prop := forall i j nu, D i j nu -> exists mu, F i j mu /\ at_most (sup nu) (sup mu).

Lemma chosen_cofinal S phi : cofinal (chosen less (meaning S phi)) (meaning S phi).
Proof.
  intros i j nu K; pose proof (good_order var _ (meaning_good event var var_dec type_of S phi) _ _ _ K) as L.
  destruct (meaning_word S phi i j nu K) as [w [I [M [N A]]]].
  set (l := exec event var var_dec type_of phi (slice event S i (j + 1 - i))) in *.
  set (P := fun u v : word event var => less (sup (val event var i u)) (sup (val event var i v))).
  assert (IN : forall y, In y (w :: l) -> In y l) by (intros y [<-|Y]; assumption).
  destruct (greatest _ P l) with (x := w) as [m [J [X G]]].
  - intros x; apply (less_irreflexive _ _ O).
  - intros x y z; apply (less_transitive _ _ O).
  - intros y z Y Z; apply IN in Y, Z; apply (word_meaning S phi i j y L) in Y; apply (word_meaning S phi i j z L) in Z.
    eapply decided; [apply Y|apply Z].
  - exists (val event var i m); split; [split|].
    + apply (word_meaning S phi i j m L), IN, J.
    + intros xi X' Q; destruct (meaning_word S phi i j xi X') as [u [U [MU [NU AU]]]]; apply (G u); [right; exact U|].
      eapply (less_agree _ _ O); [intros p; apply iff_refl| |exact Q]; intros p; apply (sup_proper var _ _ MU p p eq_refl).
    + assert (E : agree (sup nu) (sup (val event var i w))) by (intros p; apply (sup_proper var _ _ M p p eq_refl)).
      destruct X as [->|X]; [left; exact E|right; eapply (less_agree _ _ O); [apply agree_sym, E|intros p; apply iff_refl|exact X]].
Qed.

Lemma chosen_sub D : sub (chosen less D) D. Proof. intros i j mu [K _]; exact K. Qed.

(** What has something as great for all of D, and all that is chosen of D, has the same chosen. *)
Lemma same_chosen D F : sub F D -> cofinal F D -> sub (chosen less D) F -> equ (chosen less D) (chosen less F).
Proof.
  intros H C K i j mu; split.
  - intros [M N]; split; [apply K; split; assumption|]; intros nu L; apply N, H, L.
  - intros [M N]; split; [apply H, M|]; intros nu L Q; destruct (C i j nu L) as [xi [X A]]; apply (N xi X).
    eapply at_most_less; eauto.
Qed.

Lemma chosen_equ D E : equ D E -> equ (chosen less D) (chosen less E).
Proof. intros H i j mu; unfold chosen; setoid_rewrite (H i j); tauto. Qed.

Lemma chosen_again D : equ (chosen less (chosen less D)) (chosen less D).
Proof. intros i j mu; unfold chosen; split; [tauto|]; intros [K N]; split; [auto|]; intros nu [L _]; apply N, L. Qed.

Lemma chosen_unless F D : equ (chosen less (restricted (clear F) D)) (restricted (clear F) (chosen less D)).
Proof.
  intros i j mu; unfold chosen, Algebra.restricted; split; [intros [[K C] N]|intros [[K N] C]]; repeat split; auto.
  intros nu [L _]; auto.
Qed.

Lemma chosen_or D E : cofinal (chosen less D) D -> cofinal (chosen less E) E ->
  equ (chosen less (either D E)) (chosen less (either (chosen less D) (chosen less E))).
Proof.
  intros CD CE; apply same_chosen.
  - intros i j mu [[K _]|[K _]]; [left|right]; exact K.
  - intros i j nu [K|K]; [destruct (CD i j nu K) as [mu [M A]]|destruct (CE i j nu K) as [mu [M A]]]; exists mu;
      (split; [|exact A]); [left|right]; exact M.
  - intros i j mu [[K|K] N]; [left|right]; (split; [exact K|]); intros nu L; apply N; [left|right]; exact L.
Qed.

Lemma sup_split mu mu1 mu2 : same mu (union mu1 mu2) -> agree (sup mu) (above (sup mu1) (sup mu2)).
Proof. intros M p; rewrite (sup_proper var _ _ M p p eq_refl); apply sup_union. Qed.

Lemma lies_before mu i k : lies mu i k -> before (sup mu) k. Proof. intros H p K; apply H in K; lia. Qed.
Lemma lies_after mu k j : lies mu (k + 1) j -> after (sup mu) k. Proof. intros H p K; apply H in K; lia. Qed.

(** Greater parts make a greater whole. *)
Lemma less_union_left mu mu1 nu1 mu2 i k j : lies mu1 i k -> lies nu1 i k -> lies mu2 (k + 1) j ->
  same mu (union mu1 mu2) -> less (sup mu1) (sup nu1) -> less (sup mu) (sup (union nu1 mu2)).
Proof.
  intros L L' R M H; eapply (less_agree _ _ O); [apply agree_sym, sup_split, M|apply agree_sym, sup_split; reflexivity|].
  eapply (less_left _ _ O); eauto using lies_before, lies_after.
Qed.

Lemma less_union_right mu mu1 mu2 nu2 i k j : lies mu1 i k -> lies mu2 (k + 1) j -> lies nu2 (k + 1) j ->
  same mu (union mu1 mu2) -> less (sup mu2) (sup nu2) -> less (sup mu) (sup (union mu1 nu2)).
Proof.
  intros L R R' M H; eapply (less_agree _ _ O); [apply agree_sym, sup_split, M|apply agree_sym, sup_split; reflexivity|].
  eapply (less_right _ _ O); eauto using lies_before, lies_after.
Qed.

Lemma at_most_union mu mu1 nu1 mu2 nu2 i k j : lies mu1 i k -> lies nu1 i k -> lies mu2 (k + 1) j -> lies nu2 (k + 1) j ->
  same mu (union mu1 mu2) -> at_most (sup mu1) (sup nu1) -> at_most (sup mu2) (sup nu2) -> at_most (sup mu) (sup (union nu1 nu2)).
Proof.
  intros L L' R R' M H K.
  assert (A : at_most (sup mu) (sup (union nu1 mu2))).
  { destruct H as [H|H]; [left|right; apply (less_union_left mu mu1 nu1 mu2 i k j); assumption].
    intros p; rewrite (sup_split mu mu1 mu2 M p), sup_union; unfold above; rewrite (H p); tauto. }
  assert (B : at_most (sup (union nu1 mu2)) (sup (union nu1 nu2))).
  { destruct K as [K|K]; [left|right; apply (less_union_right _ nu1 mu2 nu2 i k j); (assumption || reflexivity)].
    intros p; rewrite !sup_union; rewrite (K p); tauto. }
  destruct A as [A|A]; [|right; eapply at_most_less; eauto].
  destruct B as [B|B]; [left; intros p; rewrite (A p); apply B|right].
  eapply (less_agree _ _ O); [apply agree_sym, A|intros p; apply iff_refl|exact B].
Qed.

Lemma chosen_good D : good D -> good (chosen less D).
Proof.
  intros G; split.
  - intros i j mu nu H [K N]; split; [eapply (good_same var D); eauto|]; intros xi X Q; apply (N xi X).
    eapply (less_agree _ _ O); [|intros p; apply iff_refl|exact Q]; intros p; symmetry; apply (sup_proper var _ _ H p p eq_refl).
  - intros i j mu [K _]; eapply (good_order var D); eauto.
  - intros i j mu A p [K _]; eapply (good_range var D); eauto.
Qed.

Hint Resolve good_lies : core.

Lemma chosen_sequenced D E : good D -> good E -> cofinal (chosen less D) D -> cofinal (chosen less E) E ->
  equ (chosen less (sequenced D E)) (chosen less (sequenced (chosen less D) (chosen less E))).
Proof.
  intros GD GE CD CE; apply same_chosen.
  - apply (join_mono var _ (sequenced_joining var)); apply chosen_sub.
  - intros i j nu [k [nu1 [nu2 [L [K1 [K2 M]]]]]].
    destruct (CD _ _ _ K1) as [mu1 [M1 A1]], (CE _ _ _ K2) as [mu2 [M2 A2]]; exists (union mu1 mu2); split.
    + exists k, mu1, mu2; repeat (split; [assumption|]); reflexivity.
    + eapply (at_most_union nu nu1 mu1 nu2 mu2 i k j); eauto; [apply chosen_sub in M1|apply chosen_sub in M2]; eauto.
  - intros i j mu [[k [mu1 [mu2 [L [K1 [K2 M]]]]]] N]; exists k, mu1, mu2; split; [exact L|]; split; [|split; [|exact M]]; split; auto.
    + intros nu1 X Q; apply (N (union nu1 mu2)); [exists k, nu1, mu2; repeat (split; [assumption|]); reflexivity|].
      apply (less_union_left mu mu1 nu1 mu2 i k j); eauto.
    + intros nu2 X Q; apply (N (union mu1 nu2)); [exists k, mu1, nu2; repeat (split; [assumption|]); reflexivity|].
      apply (less_union_right mu mu1 mu2 nu2 i k j); eauto.
Qed.

Lemma chosen_plus D : good D -> cofinal (chosen less D) D -> equ (chosen less (iterated sequenced D)) (chosen less (iterated sequenced (chosen less D))).
Proof.
  intros G C; pose proof (chosen_good D G) as G'; pose proof (sequenced_joining var) as J; apply same_chosen.
  - apply iter_mono; [exact J|apply chosen_sub].
  - assert (H : forall n, cofinal (rounds var sequenced (chosen less D) n) (rounds var sequenced D n)).
    { induction n as [|n IH]; cbn; [exact C|]; intros i j nu [k [nu1 [nu2 [L [K1 [K2 M]]]]]].
      destruct (C _ _ _ K1) as [mu1 [M1 A1]], (IH _ _ _ K2) as [mu2 [M2 A2]]; exists (union mu1 mu2); split.
      - exists k, mu1, mu2; repeat (split; [assumption|]); reflexivity.
      - pose proof (rounds_good var _ J _ n G) as Gn; pose proof (rounds_good var _ J _ n G') as Gn'.
        eapply (at_most_union nu nu1 mu1 nu2 mu2 i k j); eauto. }
    intros i j nu [n K]; destruct (H n i j nu K) as [mu [M A]]; exists mu; split; [exists n; exact M|exact A].
  - assert (H : forall n i j mu, rounds var sequenced D n i j mu -> (forall nu, iterated sequenced D i j nu -> ~ less (sup mu) (sup nu)) ->
                rounds var sequenced (chosen less D) n i j mu).
    { induction n as [|n IH]; cbn; intros i j mu K N; [split; [exact K|]; intros nu X; apply N; exists 0; exact X|].
      destruct K as [k [mu1 [mu2 [L [K1 [K2 M]]]]]].
      pose proof (rounds_good var _ J _ n G) as Gn; pose proof (iter_good var _ J D G) as Gi.
      exists k, mu1, mu2; split; [exact L|]; split; [split; [exact K1|]|split; [apply IH; [exact K2|]|exact M]].
      - intros nu1 X Q; apply (N (union nu1 mu2)).
        + exists (Datatypes.S n); cbn; exists k, nu1, mu2; repeat (split; [assumption|]); reflexivity.
        + apply (less_union_left mu mu1 nu1 mu2 i k j); eauto.
      - intros nu2 X Q; apply (N (union mu1 nu2)).
        + apply (iter_left var _ J D); right; exists k, mu1, nu2; repeat (split; [assumption|]); reflexivity.
        + apply (less_union_right mu mu1 mu2 nu2 i k j); eauto. }
    intros i j mu [[n K] N]; exists n; apply H; assumption.
Qed.

Lemma chosen_mapped f D : keeps_support var f -> equ (mapped f (chosen less D)) (chosen less (mapped f D)).
Proof.
  intros F.
  assert (H : forall mu nu, same mu (f nu) -> agree (sup mu) (sup nu)).
  { intros mu nu M p; rewrite (sup_proper var _ _ M p p eq_refl); apply F. }
  intros i j mu; unfold chosen, Algebra.mapped; split.
  - intros [nu [[K N] M]]; split; [exists nu; auto|]; intros xi [rho [X Y]] Q; apply (N rho X).
    eapply (less_agree _ _ O); [apply H, M|apply H, Y|exact Q].
  - intros [[nu [K M]] N]; exists nu; split; [split; [exact K|]|exact M]; intros rho X Q.
    apply (N (f rho)); [exists rho; split; [exact X|reflexivity]|].
    eapply (less_agree _ _ O); [apply agree_sym, H, M|apply agree_sym, H; reflexivity|exact Q].
Qed.

Lemma unless_chosen S phi D : equ (restricted (clear (chosen less (meaning S phi))) D) (restricted (clear (meaning S phi)) D).
Proof.
  apply unless_same.
  - apply occurs_sub; [apply chosen_good, (meaning_good event var var_dec)|apply chosen_sub].
  - intros i j nu K; pose proof (good_order var _ (meaning_good event var var_dec type_of S phi) _ _ _ K) as L.
    destruct (chosen_cofinal S phi i j nu K) as [mu [M _]]; exists i, j, mu; auto.
Qed.

(** A property that what is greater has too. *)
Lemma chosen_restricted (P : property var) (D : meanings) : (forall i j mu nu, D i j mu -> D i j nu -> P i j mu -> less (sup mu) (sup nu) -> P i j nu) ->
  equ (restricted P (chosen less D)) (chosen less (restricted P D)).
Proof.
  intros H i j mu; unfold chosen, Algebra.restricted; split.
  - intros [[K N] Q]; split; [auto|]; intros nu [L _]; apply N, L.
  - intros [[K Q] N]; split; [split; [exact K|]|exact Q]; intros nu L R; apply (N nu); [split; [exact L|]|exact R].
    apply (H i j mu nu); assumption.
Qed.

(** : in two steps, where what is greater keeps the position at which the parts meet. *)
Definition keeps_last : Prop := forall mu nu i k, lies mu i k -> lies nu i k -> last mu k -> less (sup mu) (sup nu) -> last nu k.
Definition keeps_first : Prop := forall mu nu k j, lies mu k j -> lies nu k j -> first mu k -> less (sup mu) (sup nu) -> first nu k.

Lemma chosen_contiguous_left D E : keeps_last -> good D -> good E -> cofinal (chosen less D) D ->
  equ (chosen less (contiguous D E)) (chosen less (contiguous (chosen less D) E)).
Proof.
  intros KL GD GE CD; apply same_chosen.
  - apply (join_mono var _ (contiguous_joining var)); [apply chosen_sub|apply sub_refl].
  - intros i j nu [k [nu1 [nu2 [L [K1 [K2 [B [C M]]]]]]]]; destruct (CD _ _ _ K1) as [mu1 [M1 A1]].
    assert (B' : last mu1 k).
    { destruct A1 as [A|A]; [split; [apply A, B|intros q X; apply B, A, X]|eapply (KL nu1 mu1 i k); eauto; apply chosen_sub in M1; eauto]. }
    exists (union mu1 nu2); split; [exists k, mu1, nu2; repeat (split; [assumption|]); reflexivity|].
    eapply (at_most_union nu nu1 mu1 nu2 nu2 i k j); eauto; [apply chosen_sub in M1; eauto|left; intros p; apply iff_refl].
  - intros i j mu [[k [mu1 [mu2 [L [K1 [K2 [B [C M]]]]]]]] N]; exists k, mu1, mu2; split; [exact L|]; split; [split; [exact K1|]|auto].
    intros nu1 X Q; apply (N (union nu1 mu2)); [|apply (less_union_left mu mu1 nu1 mu2 i k j); eauto].
    exists k, nu1, mu2; repeat (split; [assumption|]); split; [eapply (KL mu1 nu1 i k); eauto|split; [exact C|reflexivity]].
Qed.

Lemma chosen_contiguous_right D E : keeps_first -> good D -> good E -> cofinal (chosen less E) E ->
  equ (chosen less (contiguous D E)) (chosen less (contiguous D (chosen less E))).
Proof.
  intros KF GD GE CE; apply same_chosen.
  - apply (join_mono var _ (contiguous_joining var)); [apply sub_refl|apply chosen_sub].
  - intros i j nu [k [nu1 [nu2 [L [K1 [K2 [B [C M]]]]]]]]; destruct (CE _ _ _ K2) as [mu2 [M2 A2]].
    assert (C' : first mu2 (k + 1)).
    { destruct A2 as [A|A]; [split; [apply A, C|intros q X; apply C, A, X]|eapply (KF nu2 mu2 (k + 1) j); eauto; apply chosen_sub in M2; eauto]. }
    exists (union nu1 mu2); split; [exists k, nu1, mu2; repeat (split; [assumption|]); reflexivity|].
    eapply (at_most_union nu nu1 nu1 nu2 mu2 i k j); eauto; [apply chosen_sub in M2; eauto|left; intros p; apply iff_refl].
  - intros i j mu [[k [mu1 [mu2 [L [K1 [K2 [B [C M]]]]]]]] N]; exists k, mu1, mu2; split; [exact L|]; split; [exact K1|].
    split; [split; [exact K2|]|auto].
    intros nu2 X Q; apply (N (union mu1 nu2)); [|apply (less_union_right mu mu1 mu2 nu2 i k j); eauto].
    exists k, mu1, nu2; repeat (split; [assumption|]); split; [eapply (KF mu2 nu2 (k + 1) j); eauto|reflexivity].
Qed.

End Order.

End Strategies.
