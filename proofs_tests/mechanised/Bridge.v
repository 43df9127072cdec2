(** The valuations of a formula (Figure 3, Cel.v) are its words (Words.v), and so what its automaton accepts. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62.

Section Bridge.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation word := (word event var).
Notation valuation := (valuation var).
Notation stream := (stream event).
Notation lang := (lang event var var_dec type_of).
Notation meaning := (meaning event var type_of).
Notation same := (same var).
Notation sup := (sup var).
Notation union := (union var).
Notation events := (events event var).
Notation blank := (blank event var).
Notation zip := (zip event var).
Notation marked := (marked event var).

(** The word's events are those of S from i on. *)
Fixpoint over (S : stream) (i : nat) (w : word) : Prop :=
  match w with
  | [] => True
  | a :: w => fst a = S i /\ over S (i + 1) w
  end.

(** The valuation of a word whose first event is at i. *)
Fixpoint val (i : nat) (w : word) : valuation := fun A p =>
  match w with
  | [] => False
  | a :: w => (p = i /\ In A (snd a)) \/ val (i + 1) w A p
  end.

(** The word is the interval of S from i to j. *)
Definition spans (S : stream) (i j : nat) (w : word) : Prop := w <> [] /\ over S i w /\ j + 1 = i + length w.

Definition represents (S : stream) (D : meanings var) (E : word -> Prop) : Prop :=
  forall i j mu, D i j mu <-> exists w, E w /\ spans S i j w /\ same mu (val i w).

(* --- words and valuations ----------------------------------------------------------------------------------------- *)

Lemma over_app S u v : forall i, over S i (u ++ v) <-> over S i u /\ over S (i + length u) v.
Proof.
  induction u as [|a u IH]; intros i; cbn.
  - rewrite Nat.add_0_r; tauto.
  - rewrite IH; replace (i + 1 + length u) with (i + Datatypes.S (length u)) by lia; tauto.
Qed.

Lemma val_app u v A p : forall i, val i (u ++ v) A p <-> val i u A p \/ val (i + length u) v A p.
Proof.
  induction u as [|a u IH]; intros i; cbn.
  - rewrite Nat.add_0_r; tauto.
  - rewrite IH; replace (i + 1 + length u) with (i + Datatypes.S (length u)) by lia; tauto.
Qed.

Lemma val_range w A p : forall i, val i w A p -> i <= p < i + length w.
Proof. induction w as [|a w IH]; intros i; cbn; [tauto|]; intros [[-> _]|H]; [lia|apply IH in H; lia]. Qed.

Lemma val_blank es A p : forall i, ~ val i (blank es) A p.
Proof. induction es; intros i; cbn; [auto|]; intros [[_ []]|H]; eapply IHes, H. Qed.

Lemma over_remark S f w : forall i, over S i (remark event var f w) <-> over S i w.
Proof. induction w as [|a w IH]; intros i; cbn; [tauto|]; rewrite IH; tauto. Qed.

Lemma over_events S u v : events u = events v -> forall i, over S i u <-> over S i v.
Proof.
  revert v; induction u as [|a u IH]; intros [|b v] E i; try discriminate; cbn in *; [tauto|].
  inversion E as [[E1 E2]]; rewrite E1, (IH v E2); tauto.
Qed.

Lemma length_events w : length (events w) = length w.
Proof. apply map_length. Qed.

Lemma same_refl mu : same mu mu. Proof. intros A p; tauto. Qed.
Lemma same_sym mu nu : same mu nu -> same nu mu. Proof. intros H A p; rewrite (H A p); tauto. Qed.
Lemma same_trans mu nu xi : same mu nu -> same nu xi -> same mu xi.
Proof. intros H K A p; rewrite (H A p); apply K. Qed.

Lemma same_union mu mu' nu nu' : same mu mu' -> same nu nu' -> same (union mu nu) (union mu' nu').
Proof. intros H K A p; unfold Cel.union; rewrite (H A p), (K A p); tauto. Qed.

Lemma sup_same mu nu p : same mu nu -> sup mu p -> sup nu p.
Proof. intros H [A K]; exists A; apply H, K. Qed.

Lemma val_union u v i : same (val i (u ++ v)) (union (val i u) (val (i + length u) v)).
Proof. intros A p; unfold Cel.union; apply val_app. Qed.

Lemma spans_split S i j u v : u <> [] -> v <> [] ->
  spans S i j (u ++ v) <-> exists k, i <= k < j /\ spans S i k u /\ spans S (k + 1) j v.
Proof.
  intros U V; unfold spans; rewrite over_app, app_length.
  assert (length u <> 0) by (destruct u; cbn; congruence); assert (length v <> 0) by (destruct v; cbn; congruence).
  split.
  - intros [_ [[O P] L]]; exists (i + length u - 1); replace (i + length u - 1 + 1) with (i + length u) by lia.
    repeat split; auto; lia.
  - intros [k [K [[_ [O L]] [_ [P M]]]]]; replace (k + 1) with (i + length u) in * by lia.
    split; [destruct u; cbn; congruence|]; repeat split; auto; lia.
Qed.

(* --- ; : and their iterations ------------------------------------------------------------------------------------- *)

Definition nonempty (E : word -> Prop) : Prop := forall w, E w -> w <> [].

Lemma seq_represents S D1 E1 D2 E2 : represents S D1 E1 -> represents S D2 E2 -> nonempty E1 -> nonempty E2 ->
  represents S (sequenced var D1 D2) (seqw event var E1 E2).
Proof.
  intros R1 R2 N1 N2 i j mu; split.
  - intros [k [mu1 [mu2 [K [H1 [H2 M]]]]]]; apply R1 in H1; apply R2 in H2.
    destruct H1 as [u [U [PU M1]]], H2 as [v [V [PV M2]]]; exists (u ++ v); split; [exists u, v; auto|].
    split; [apply spans_split; eauto|].
    eapply same_trans; [exact M|]; eapply same_trans; [apply same_union; eassumption|].
    destruct PU as [_ [_ L]]; rewrite L; apply same_sym, val_union.
  - intros [w [[u [v [U [V ->]]]] [P M]]]; apply spans_split in P; eauto; destruct P as [k [K [PU PV]]].
    exists k, (val i u), (val (k + 1) v); repeat split; try lia.
    + apply R1; exists u; auto using same_refl.
    + apply R2; exists v; auto using same_refl.
    + destruct PU as [_ [_ L]]; intros H; apply M in H; rewrite L; apply val_union, H.
    + destruct PU as [_ [_ L]]; intros H; apply M; rewrite L in H; apply val_union, H.
Qed.

Lemma last_marked u a i k mu : i + length u = k -> same mu (val i (u ++ [a])) ->
  last var mu k <-> marked a.
Proof.
  intros L M; unfold Words.marked; split.
  - intros [[A H] _] E; apply M, val_app in H; rewrite L in H; destruct H as [H|H].
    + apply val_range in H; lia.
    + cbn in H; rewrite E in H; destruct H as [[_ []]|[]].
  - intros N; destruct (snd a) as [|A K] eqn:E; [congruence|]; split.
    + exists A; apply M, val_app; right; cbn; rewrite E; left; split; [lia|left; auto].
    + intros q [B H]; apply M, val_range in H; rewrite app_length in H; cbn in H; lia.
Qed.

Lemma first_marked b v i mu : same mu (val i (b :: v)) -> first var mu i <-> marked b.
Proof.
  intros M; unfold Words.marked; split.
  - intros [[A H] _] E; apply M in H; cbn in H; rewrite E in H; destruct H as [[_ []]|H]; apply val_range in H; lia.
  - intros N; destruct (snd b) as [|A K] eqn:E; [congruence|]; split.
    + exists A; apply M; cbn; rewrite E; left; split; [auto|left; auto].
    + intros q [B H]; apply M, val_range in H; lia.
Qed.

Lemma cseq_represents S D1 E1 D2 E2 : represents S D1 E1 -> represents S D2 E2 -> nonempty E1 -> nonempty E2 ->
  represents S (contiguous var D1 D2) (cseqw event var E1 E2).
Proof.
  intros R1 R2 N1 N2 i j mu; split.
  - intros [k [mu1 [mu2 [K [H1 [H2 [F [G M]]]]]]]]; apply R1 in H1; apply R2 in H2.
    destruct H1 as [u [U [PU M1]]], H2 as [v [V [PV M2]]].
    destruct (exists_last (N1 u U)) as [u' [a ->]]; destruct v as [|b v]; [destruct (N2 _ V eq_refl)|].
    assert (L := PU); destruct L as [_ [_ L]]; rewrite app_length in L; cbn in L.
    exists ((u' ++ [a]) ++ b :: v); split.
    + exists u', a, b, v; repeat split; auto.
      * eapply last_marked with (i := i) (k := k) (mu := mu1); eauto; lia.
      * eapply first_marked with (i := k + 1) (mu := mu2); eauto.
    + split; [apply spans_split; eauto; discriminate|].
      eapply same_trans; [exact M|]; eapply same_trans; [apply same_union; eassumption|].
      replace (k + 1) with (i + length (u' ++ [a])) by (rewrite app_length; cbn; lia); apply same_sym, val_union.
  - intros [w [[u [a [b [v [U [V [MA [MB ->]]]]]]]] [P M]]]; apply spans_split in P; eauto.
    destruct P as [k [K [PU PV]]]; exists k, (val i (u ++ [a])), (val (k + 1) (b :: v)).
    assert (L := PU); destruct L as [_ [_ L]]; assert (L' := L); rewrite app_length in L'; cbn [length] in L'.
    split; [exact K|]; split; [apply R1; eauto using same_refl|]; split; [apply R2; eauto using same_refl|].
    split; [eapply last_marked with (u := u) (a := a) (i := i); [lia|apply same_refl|exact MA]|].
    split; [eapply first_marked; [apply same_refl|exact MB]|].
    rewrite L; eapply same_trans; [exact M|apply val_union].
Qed.

Lemma rounds_represent S D E join joinw :
  (forall D1 E1 D2 E2, represents S D1 E1 -> represents S D2 E2 -> nonempty E1 -> nonempty E2 ->
     represents S (join D1 D2) (joinw E1 E2)) ->
  (forall E1 E2, nonempty E1 -> nonempty (joinw E1 E2)) ->
  represents S D E -> nonempty E ->
  forall n, represents S (rounds var join D n) (roundsw event var joinw E n) /\ nonempty (roundsw event var joinw E n).
Proof. intros J N R NE; induction n as [|n [IH NI]]; cbn; auto. Qed.

Lemma seqw_nonempty E1 E2 : nonempty E1 -> nonempty (seqw event var E1 E2).
Proof. intros N w [u [v [U [_ ->]]]]; apply N in U; destruct u; [congruence|discriminate]. Qed.

Lemma cseqw_nonempty E1 E2 : nonempty E1 -> nonempty (cseqw event var E1 E2).
Proof. intros _ w [u [a [b [v [_ [_ [_ [_ ->]]]]]]]]; destruct u; discriminate. Qed.

(* --- IN, PROJECT, FILTER ------------------------------------------------------------------------------------------ *)

Lemma spans_remark S i j f w : spans S i j (remark event var f w) <-> spans S i j w.
Proof.
  unfold spans; rewrite over_remark; unfold remark; rewrite map_length; destruct w; cbn; intuition congruence.
Qed.

Lemma val_in X w B p : forall i,
  val i (remark event var (in_marks var X) w) B p <->
  (B <> X /\ val i w B p) \/ (B = X /\ sup (val i w) p).
Proof.
  induction w as [|[e L] w IH]; intros i.
  - cbn; unfold Cel.sup; firstorder.
  - cbn [remark map val fst snd]; fold (remark event var (in_marks var X) w); rewrite IH.
    assert (I : In B (in_marks var X L) <-> (B <> X /\ In B L) \/ (B = X /\ exists A, In A L)).
    { destruct (var_dec B X) as [->|N]; destruct L as [|A L]; cbn.
      - split; [tauto|]; intros [[_ []]|[_ [_ []]]].
      - split; [intros _; right; split; [auto|exists A; auto]|auto].
      - split; [tauto|]; intros [[_ []]|[E _]]; congruence.
      - split; [intros [E|H]; [congruence|auto]|intros [[_ H]|[E _]]; [auto|congruence]]. }
    rewrite I; unfold Cel.sup; split.
    + intros [[-> [[N H]|[-> [A H]]]]|[[N H]|[-> [A H]]]]; eauto 8.
    + intros [[N [[-> H]|H]]|[-> [A [[-> H]|H]]]]; eauto 8.
Qed.

Lemma val_keep K w B p : forall i,
  val i (remark event var (keep var var_dec K) w) B p <-> In B K /\ val i w B p.
Proof.
  induction w as [|[e L] w IH]; intros i; cbn; [tauto|]; rewrite IH; unfold keep; rewrite filter_In, has_spec; tauto.
Qed.

Lemma in_same X mu nu : same mu nu ->
  same (fun B p => (B <> X /\ mu B p) \/ (B = X /\ sup mu p)) (fun B p => (B <> X /\ nu B p) \/ (B = X /\ sup nu p)).
Proof.
  intros M B p; rewrite (M B p); split; (intros [H|[E H]]; [auto|right; split; [exact E|]]);
    eapply sup_same; try exact H; auto using same_sym.
Qed.

Lemma every_passes S X P w : forall i, over S i w ->
  (forall p, val i w X p -> P (S p) = true) <-> Forall (fun a => In X (snd a) -> P (fst a) = true) w.
Proof.
  induction w as [|[e L] w IH]; intros i O; cbn.
  - split; [constructor|intros _ p []].
  - destruct O as [E O]; cbn in E; subst e; split.
    + intros H; constructor; [intros I; apply H; auto|]; apply (IH (i + 1) O); intros p V; apply H; auto.
    + intros F p; inversion F as [|x y F1 F2]; subst; intros [[-> I]|V]; [apply F1, I|].
      revert p V; apply (IH (i + 1) O), F2.
Qed.

Lemma satisfies_passes S c w i mu : over S i w -> same mu (val i w) ->
  satisfies event var S mu c <-> passes event var c w.
Proof.
  intros O M; induction c; cbn; [|rewrite IHc1, IHc2; tauto|rewrite IHc1, IHc2; tauto].
  rewrite <- (every_passes S A P w i O); split; intros H p V; apply H, M, V.
Qed.

(* --- AND ---------------------------------------------------------------------------------------------------------- *)

Lemma eqw_same S u v : forall i, over S i u -> over S i v -> length u = length v ->
  eqw event var u v <-> same (val i u) (val i v).
Proof.
  revert v; induction u as [|[e L] u IH]; intros [|[f M] v] i OU OV E; try discriminate.
  - split; [intros _; apply same_refl|constructor].
  - destruct OU as [EU OU], OV as [EV OV]; cbn in EU, EV; subst; cbn in E; split.
    + intros H; inversion H as [|x y u' v' [_ EM] HR]; subst; cbn in EM.
      apply (IH v (i + 1)) in HR; auto; intros A p; cbn; rewrite (HR A p), (EM A); tauto.
    + intros H; assert (R : forall A p, i < p -> val (i + 1) u A p <-> val (i + 1) v A p).
      { intros A p G; specialize (H A p); cbn in H; split; intros K.
        - destruct H as [H _]; destruct (H (or_intror K)) as [[-> _]|H']; [lia|exact H'].
        - destruct H as [_ H]; destruct (H (or_intror K)) as [[-> _]|H']; [lia|exact H']. }
      constructor.
      * split; [reflexivity|]; intros A; specialize (H A i); cbn in *; split; intros K.
        -- destruct H as [H _]; destruct (H (or_introl (conj eq_refl K))) as [[_ H']|H']; [exact H'|apply val_range in H'; lia].
        -- destruct H as [_ H]; destruct (H (or_introl (conj eq_refl K))) as [[_ H']|H']; [exact H'|apply val_range in H'; lia].
      * apply (IH v (i + 1)); auto; intros A p; split; intros K; assert (G := K); apply val_range in G; apply R in K; auto; lia.
Qed.

(* --- ALL ---------------------------------------------------------------------------------------------------------- *)

Fixpoint slice (S : stream) (i n : nat) : list event :=
  match n with
  | 0 => []
  | Datatypes.S n => S i :: slice S (i + 1) n
  end.

Lemma slice_length S n : forall i, length (slice S i n) = n.
Proof. induction n; intros i; cbn; auto. Qed.

Lemma over_slice S n : forall i, over S i (blank (slice S i n)).
Proof. induction n; intros i; cbn; [exact I|split; [reflexivity|apply IHn]]. Qed.

Lemma over_is_slice S w : forall i, over S i w <-> events w = slice S i (length w).
Proof.
  induction w as [|a w IH]; intros i; cbn; [tauto|]; rewrite IH; unfold Words.events; split; [intros [-> ->]; reflexivity|].
  intros E; inversion E; auto.
Qed.

Lemma over_blank S es : forall i, over S i (blank es) -> es = slice S i (length es).
Proof. induction es; intros i; cbn; [auto|]; intros [-> O]; f_equal; auto. Qed.

Lemma zip_spans S u v : forall i, over S i u -> over S i v -> length u = length v ->
  over S i (zip u v) /\ length (zip u v) = length u /\ same (val i (zip u v)) (union (val i u) (val i v)).
Proof.
  revert v; induction u as [|[e L] u IH]; intros [|[f M] v] i OU OV E; try discriminate.
  - cbn; repeat split; auto; intros H; [destruct H|destruct H as [[]|[]]].
  - destruct OU as [EU OU], OV as [EV OV]; cbn in EU, EV, E; subst.
    destruct (IH v (i + 1) OU OV) as [O [N V]]; [lia|]; cbn; split; [auto|]; split; [auto|].
    intros A p; unfold Cel.union in *; cbn; rewrite in_app_iff, (V A p); tauto.
Qed.

Lemma zip_events u v : events u = events v -> events (zip u v) = events u.
Proof.
  revert v; induction u as [|a u IH]; intros [|b v] E; try discriminate; cbn; [auto|].
  inversion E; f_equal; apply IH; assumption.
Qed.

Lemma blank_length es : length (blank es) = length es.
Proof. apply map_length. Qed.

Lemma val_around es w fs i : same (val i (blank es ++ w ++ blank fs)) (val (i + length es) w).
Proof.
  intros A p; rewrite !val_app, blank_length; split; [|auto].
  intros [H|[H|H]]; [destruct (val_blank _ _ _ _ H)|exact H|destruct (val_blank _ _ _ _ H)].
Qed.

Lemma all_represents S D1 E1 D2 E2 : represents S D1 E1 -> represents S D2 E2 ->
  nonempty E1 -> nonempty E2 ->
  represents S (fun i j mu => exists i1 j1 i2 j2 mu1 mu2,
      i1 <= j1 /\ i2 <= j2 /\ i = min i1 i2 /\ j = max j1 j2 /\
      D1 i1 j1 mu1 /\ D2 i2 j2 mu2 /\ same mu (union mu1 mu2)) (allw event var E1 E2).
Proof.
  intros R1 R2 N1 N2 i j mu; split.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [-> [-> [H1 [H2 M]]]]]]]]]]]].
    apply R1 in H1; apply R2 in H2.
    destruct H1 as [u [U [[NU [OU LU]] MU]]], H2 as [v [V [[NV [OV LV]] MV]]].
    set (i := min i1 i2) in *; set (j := max j1 j2) in *.
    set (u' := blank (slice S i (i1 - i)) ++ u ++ blank (slice S (j1 + 1) (j - j1))).
    set (v' := blank (slice S i (i2 - i)) ++ v ++ blank (slice S (j2 + 1) (j - j2))).
    assert (OU' : over S i u').
    { unfold u'; rewrite !over_app, blank_length, slice_length; split; [apply over_slice|].
      replace (i + (i1 - i)) with i1 by lia; split; [exact OU|].
      replace (i1 + length u) with (j1 + 1) by lia; apply over_slice. }
    assert (OV' : over S i v').
    { unfold v'; rewrite !over_app, blank_length, slice_length; split; [apply over_slice|].
      replace (i + (i2 - i)) with i2 by lia; split; [exact OV|].
      replace (i2 + length v) with (j2 + 1) by lia; apply over_slice. }
    assert (KU : length u' = j + 1 - i).
    { unfold u'; rewrite !app_length, !blank_length, !slice_length; lia. }
    assert (KV : length v' = j + 1 - i).
    { unfold v'; rewrite !app_length, !blank_length, !slice_length; lia. }
    destruct (zip_spans S u' v' i OU' OV') as [O [L Z]]; [lia|].
    exists (zip u' v'); split; [|split].
    + exists u', v', (i <? i1), (j1 <? j), (i <? i2), (j2 <? j).
      split; [exists (slice S i (i1 - i)), u, (slice S (j1 + 1) (j - j1)); split; [exact U|]; split; [reflexivity|]|].
      { rewrite !Nat.ltb_ge; split; intros G; [replace (i1 - i) with 0 by lia|replace (j - j1) with 0 by lia]; reflexivity. }
      split; [exists (slice S i (i2 - i)), v, (slice S (j2 + 1) (j - j2)); split; [exact V|]; split; [reflexivity|]|].
      { rewrite !Nat.ltb_ge; split; intros G; [replace (i2 - i) with 0 by lia|replace (j - j2) with 0 by lia]; reflexivity. }
      split; [destruct (Nat.ltb_spec i i1), (Nat.ltb_spec i i2); auto; lia|].
      split; [destruct (Nat.ltb_spec j1 j), (Nat.ltb_spec j2 j); auto; lia|].
      split; [apply over_is_slice in OU', OV'; congruence|reflexivity].
    + split; [|split; [exact O|lia]].
      intros E; rewrite E in L; cbn in L; lia.
    + eapply same_trans; [exact M|]; eapply same_trans; [|apply same_sym, Z]; apply same_union.
      * eapply same_trans; [exact MU|]; apply same_sym.
        replace i1 with (i + length (slice S i (i1 - i))) at 1 by (rewrite slice_length; lia); apply val_around.
      * eapply same_trans; [exact MV|]; apply same_sym.
        replace i2 with (i + length (slice S i (i2 - i))) at 1 by (rewrite slice_length; lia); apply val_around.
  - intros [w [[u' [v' [b1 [a1 [b2 [a2 [U [V [EB [EA [E ->]]]]]]]]]]] [[N [O L]] M]]].
    destruct U as [es1 [u [fs1 [U [-> [B1 A1]]]]]], V as [es2 [v [fs2 [V [-> [B2 A2]]]]]].
    assert (LZ : length (blank es1 ++ u ++ blank fs1) = length (blank es2 ++ v ++ blank fs2))
      by (rewrite <- !length_events, E; reflexivity).
    assert (OU : over S i (blank es1 ++ u ++ blank fs1))
      by (eapply over_events; [|exact O]; symmetry; apply zip_events, E).
    assert (OV : over S i (blank es2 ++ v ++ blank fs2))
      by (eapply over_events; [|exact OU]; symmetry; exact E).
    destruct (zip_spans S _ _ i OU OV LZ) as [_ [LW Z]].
    rewrite LW in L; rewrite !app_length, !blank_length in *.
    rewrite !over_app, blank_length in OU, OV; destruct OU as [_ [OU _]], OV as [_ [OV _]].
    assert (length u <> 0) by (apply N1 in U; destruct u; cbn; congruence).
    assert (length v <> 0) by (apply N2 in V; destruct v; cbn; congruence).
    assert (HB : length es1 = 0 \/ length es2 = 0)
      by (destruct b1, b2; try discriminate; [right; rewrite B2|left; rewrite B1|left; rewrite B1]; reflexivity).
    assert (HA : length fs1 = 0 \/ length fs2 = 0)
      by (destruct a1, a2; try discriminate; [right; rewrite A2|left; rewrite A1|left; rewrite A1]; reflexivity).
    exists (i + length es1), (j - length fs1), (i + length es2), (j - length fs2),
      (val (i + length es1) u), (val (i + length es2) v).
    split; [lia|]; split; [lia|]; split; [lia|]; split; [lia|].
    split; [apply R1; exists u; split; [exact U|]; split; [split; [apply N1, U|split; [exact OU|lia]]|apply same_refl]|].
    split; [apply R2; exists v; split; [exact V|]; split; [split; [apply N2, V|split; [exact OV|lia]]|apply same_refl]|].
    eapply same_trans; [exact M|]; eapply same_trans; [exact Z|]; apply same_union; apply val_around.
Qed.

(* --- the strategies ----------------------------------------------------------------------------------------------- *)

Notation shape := (shape event var).

(** The positions that a shape marks whose first is i. *)
Fixpoint at_marks (i : nat) (s : list bool) (p : nat) : Prop :=
  match s with
  | [] => False
  | m :: s => (p = i /\ m = true) \/ at_marks (i + 1) s p
  end.

Lemma sup_shape w p : forall i, sup (val i w) p <-> at_marks i (shape w) p.
Proof.
  unfold Cel.sup; induction w as [|[e L] w IH]; intros i; cbn; [firstorder|]; rewrite <- IH; split.
  - intros [A [[-> I]|H]]; [left|right; eauto]; unfold Words.is_marked; cbn; destruct L; [destruct I|auto].
  - intros [[-> H]|[A H]]; [|eauto]; unfold Words.is_marked in H; cbn in H; destruct L as [|A L]; [discriminate|].
    exists A; left; cbn; auto.
Qed.

Lemma at_marks_after s p : forall i, at_marks i s p -> i <= p.
Proof. induction s as [|m s IH]; intros i; cbn; [tauto|]; intros [[-> _]|H]; [lia|apply IH in H; lia]. Qed.

Ltac after := match goal with H : at_marks (?i + 1) ?s ?i |- _ => apply at_marks_after in H; lia end.

Lemma next_shapes s : forall r i, length s = length r ->
  next_better s r = false <-> next_at_most (at_marks i r) (at_marks i s).
Proof.
  unfold next_at_most, agree; induction s as [|x s IH]; intros [|y r] i E; try discriminate; cbn in E |- *.
  - split; auto; intros _; left; tauto.
  - destruct (Bool.eqb x y) eqn:X.
    + apply eqb_prop in X; subst y; rewrite (IH r (i + 1)) by lia; split.
      * intros [H|[p [H1 [H2 H3]]]]; [left; intros p; rewrite (H p); tauto|right; exists p].
        assert (G := at_marks_after _ _ _ H1); split; [auto|]; split; [intros [[-> _]|K]; [lia|auto]|].
        intros q Q; rewrite (H3 q Q); tauto.
      * intros [H|[p [H1 [H2 H3]]]].
        -- left; intros p; specialize (H p); split; intros K; assert (G := at_marks_after _ _ _ K);
             [destruct H as [H _]|destruct H as [_ H]]; destruct (H (or_intror K)) as [[-> _]|H']; auto; lia.
        -- right; destruct H1 as [[-> H1]|H1]; [exfalso; apply H2; auto|]; exists p; split; [exact H1|].
           split; [intros K; apply H2; auto|]; intros q Q; specialize (H3 q Q); split; intros K;
             assert (G := at_marks_after _ _ _ K); [destruct H3 as [H _]|destruct H3 as [_ H]];
             destruct (H (or_intror K)) as [[-> _]|H']; auto; lia.
    + destruct x, y; try discriminate; split; intros H.
      * right; exists i; split; [auto|]; split; [intros [[_ H']|K]; [discriminate|after]|].
        intros q Q; split; intros [[-> _]|K]; try lia; apply at_marks_after in K; lia.
      * reflexivity.
      * discriminate.
      * exfalso; destruct H as [H|[p [H1 [H2 H3]]]].
        -- destruct (H i) as [K _]; destruct (K (or_introl (conj eq_refl eq_refl))) as [[_ F]|F]; [discriminate|after].
        -- destruct H1 as [[_ F]|H1]; [discriminate|]; apply at_marks_after in H1; destruct (H3 i) as [K _]; [lia|].
           destruct (K (or_introl (conj eq_refl eq_refl))) as [[_ F]|F]; [discriminate|after].
Qed.

Lemma last_shapes s : forall r b i, length s = length r ->
  last_better b s r = false <->
  (agree (at_marks i r) (at_marks i s) /\ b = false) \/
  exists p, at_marks i s p /\ ~ at_marks i r p /\ forall q, p < q -> (at_marks i r q <-> at_marks i s q).
Proof.
  unfold agree; induction s as [|x s IH]; intros [|y r] b i E; try discriminate; cbn in E |- *.
  - split; [intros ->; left; tauto|intros [[_ ->]|[p [[] _]]]; auto].
  - rewrite (IH r _ (i + 1)) by lia; split.
    + intros [[H B]|[p [H1 [H2 H3]]]].
      * destruct (Bool.eqb x y) eqn:X.
        -- apply eqb_prop in X; subst y; left; split; [intros p; rewrite (H p); tauto|exact B].
        -- subst y; destruct x; [|discriminate]; right; exists i; split; [auto|].
           split; [intros [[_ F]|K]; [discriminate|after]|].
           intros q Q; rewrite (H q); split; (intros [[-> _]|K]; [lia|auto]).
      * assert (G := at_marks_after _ _ _ H1); right; exists p; split; [auto|]; split; [intros [[-> _]|K]; [lia|auto]|].
        intros q Q; rewrite (H3 q Q); split; (intros [[-> _]|K]; [lia|auto]).
    + intros [[H B]|[p [H1 [H2 H3]]]].
      * left; split.
        -- intros p; specialize (H p); split; intros K; assert (G := at_marks_after _ _ _ K);
             [destruct H as [H _]|destruct H as [_ H]]; destruct (H (or_intror K)) as [[-> _]|H']; auto; lia.
        -- destruct (Bool.eqb x y) eqn:X; [exact B|]; destruct y; [|reflexivity]; destruct x; [discriminate|].
           destruct (H i) as [K _]; destruct (K (or_introl (conj eq_refl eq_refl))) as [[_ F]|F]; [discriminate|after].
      * destruct H1 as [[-> ->]|H1].
        -- left; split.
           ++ intros q; split; intros K; assert (G := at_marks_after _ _ _ K); destruct (H3 q) as [L R]; try lia;
                [destruct (L (or_intror K)) as [[-> _]|H']|destruct (R (or_intror K)) as [[-> _]|H']]; auto; lia.
           ++ destruct y; [exfalso; apply H2; auto|reflexivity].
        -- right; exists p; split; [exact H1|]; split; [intros K; apply H2; auto|].
           assert (G0 := at_marks_after _ _ _ H1).
           intros q Q; destruct (H3 q Q) as [L R]; split; intros K;
             [destruct (L (or_intror K)) as [[-> _]|H']|destruct (R (or_intror K)) as [[-> _]|H']]; auto; lia.
Qed.

Lemma max_shapes s : forall r b i, length s = length r ->
  max_better b s r = true <->
  (forall p, at_marks i s p -> at_marks i r p) /\ (b = true \/ exists p, at_marks i r p /\ ~ at_marks i s p).
Proof.
  induction s as [|x s IH]; intros [|y r] b i E; try discriminate; cbn in E |- *.
  - split; [intros ->; split; [intros p []|auto]|intros [_ [H|[p [[] _]]]]; exact H].
  - destruct (x && negb y) eqn:X.
    + apply andb_true_iff in X; destruct X as [-> X]; destruct y; [discriminate|].
      split; [discriminate|]; intros [H _]; exfalso.
      destruct (H i (or_introl (conj eq_refl eq_refl))) as [[_ F]|F]; [discriminate|after].
    + rewrite (IH r _ (i + 1)) by lia; rewrite orb_true_iff, andb_true_iff, negb_true_iff; split.
      * intros [H K]; split.
        -- intros p [[-> ->]|P]; [destruct y; [auto|discriminate]|auto].
        -- destruct K as [[B|[-> ->]]|[p [P N]]]; [auto|right; exists i|right; exists p].
           ++ split; [auto|]; intros [[_ F]|F]; [discriminate|after].
           ++ assert (G := at_marks_after _ _ _ P); split; [auto|]; intros [[-> _]|F]; [lia|auto].
      * intros [H K]; split.
        -- intros p P; assert (G := at_marks_after _ _ _ P); destruct (H p (or_intror P)) as [[-> _]|R]; [lia|exact R].
        -- destruct K as [B|[p [[[-> ->]|P] N]]]; [auto|left; right|right; exists p].
           ++ split; [auto|]; destruct x; [exfalso; apply N; auto|auto].
           ++ split; [exact P|]; intros F; apply N; auto.
Qed.

Definition convex (C : nat -> Prop) : Prop := forall p q r, C p -> C r -> p < q < r -> C q.

Lemma strict_shapes s : forall i,
  (strict_from None s = true <-> convex (at_marks i s)) /\
  (strict_from (Some true) s = true <-> forall q r, at_marks i s r -> i <= q < r -> at_marks i s q) /\
  (strict_from (Some false) s = true <-> forall q, ~ at_marks i s q).
Proof.
  unfold convex; induction s as [|m s IH]; intros i; [cbn; repeat split; auto; intros; contradiction|].
  destruct (IH (i + 1)) as [IH0 [IH1 IH2]]; clear IH; destruct m; cbn; (split; [|split]).
  - rewrite IH1; split.
    + intros H p q r [[-> _]|P] [[-> _]|R] Q; try lia.
      * right; apply (H q r); auto; lia.
      * apply at_marks_after in P; lia.
      * apply at_marks_after in P; right; apply (H q r); auto; lia.
    + intros H q r R Q; destruct (H i q r) as [[-> _]|K]; auto; lia.
  - rewrite IH1; split.
    + intros H q r [[-> _]|R] Q; [lia|]; destruct (Nat.eq_dec q i) as [->|N]; [auto|]; right; apply (H q r); auto; lia.
    + intros H q r R Q; destruct (H q r) as [[-> _]|K]; auto; lia.
  - split; [discriminate|]; intros H; exfalso; apply (H i); auto.
  - rewrite IH0; split.
    + intros H p q r [[_ F]|P] [[_ F']|R] Q; try discriminate; right; apply (H p q r); auto.
    + intros H p q r P R Q; destruct (H p q r) as [[_ F]|K]; auto; discriminate.
  - rewrite IH2; split.
    + intros H q r [[_ F]|R]; [discriminate|destruct (H r R)].
    + intros H q Q; assert (G := at_marks_after _ _ _ Q); destruct (H i q) as [[_ F]|K]; auto; [lia|discriminate|after].
  - rewrite IH2; split; [intros H q [[_ F]|Q]; [discriminate|apply (H q Q)]|intros H q Q; apply (H q); auto].
Qed.

Lemma shape_length w : length (shape w) = length w. Proof. apply map_length. Qed.

Lemma spans_events S i j u w : spans S i j u -> spans S i j w -> events u = events w.
Proof.
  intros [_ [O L]] [_ [P M]]; apply over_is_slice in O, P; rewrite O, P; f_equal; lia.
Qed.

Lemma events_spans S i j u w : events u = events w -> spans S i j w -> spans S i j u.
Proof.
  intros E [N [O L]]; assert (H : length u = length w) by (rewrite <- !length_events, E; reflexivity).
  split; [intros ->; destruct w; [congruence|discriminate]|]; split; [eapply over_events; eauto|lia].
Qed.

(** A strategy that compares supports is one that compares shapes. *)
Lemma best_represents S D E better (ok : (nat -> Prop) -> (nat -> Prop) -> Prop) :
  (forall s r i, length s = length r -> better s r = false <-> ok (at_marks i r) (at_marks i s)) ->
  (forall C1 C1' C2 C2', agree C1 C1' -> agree C2 C2' -> ok C1 C2 -> ok C1' C2') ->
  represents S D E ->
  represents S (fun i j mu => D i j mu /\ forall nu, D i j nu -> ok (sup nu) (sup mu)) (best event var better E).
Proof.
  intros B OK R i j mu; split.
  - intros [H K]; apply R in H; destruct H as [w [W [P V]]]; exists w; split; [|auto]; split; [exact W|].
    intros u U EV; assert (PU := events_spans S i j u w EV P); apply (B _ _ i).
    + rewrite !shape_length, <- !length_events, EV; reflexivity.
    + eapply OK; [| |apply (K (val i u)); apply R; exists u; auto using same_refl].
      * intros p; apply sup_shape.
      * intros p; rewrite <- sup_shape; split; apply sup_same; auto using same_sym.
  - intros [w [[W K] [P V]]]; split; [apply R; eauto|]; intros nu N; apply R in N; destruct N as [u [U [PU VU]]].
    assert (EV := spans_events S i j u w PU P).
    eapply OK; [| |apply (B (shape w) (shape u) i); [|apply K; auto]].
    + intros p; rewrite <- sup_shape; split; apply sup_same; auto using same_sym.
    + intros p; rewrite <- sup_shape; split; apply sup_same; auto using same_sym.
    + rewrite !shape_length, <- !length_events, EV; reflexivity.
Qed.

Lemma next_agrees C1 C1' C2 C2' : agree C1 C1' -> agree C2 C2' -> next_at_most C1 C2 -> next_at_most C1' C2'.
Proof.
  unfold next_at_most, agree; intros H K [L|[p [P [N Q]]]].
  - left; intros p; rewrite <- (H p), <- (K p); auto.
  - right; exists p; rewrite <- (H p), <- (K p); split; [auto|]; split; [auto|]; intros q; rewrite <- (H q), <- (K q); auto.
Qed.

Lemma last_agrees C1 C1' C2 C2' : agree C1 C1' -> agree C2 C2' -> last_at_most C1 C2 -> last_at_most C1' C2'.
Proof.
  unfold last_at_most, agree; intros H K [L|[p [P [N Q]]]].
  - left; intros p; rewrite <- (H p), <- (K p); auto.
  - right; exists p; rewrite <- (H p), <- (K p); split; [auto|]; split; [auto|]; intros q; rewrite <- (H q), <- (K q); auto.
Qed.

Lemma below_agrees C1 C1' C2 C2' : agree C1 C1' -> agree C2 C2' -> ~ below C2 C1 -> ~ below C2' C1'.
Proof.
  unfold below, agree; intros H K N [L [p [P Q]]]; apply N; split.
  - intros q; rewrite (H q), (K q); auto.
  - exists p; rewrite (H p), (K p); auto.
Qed.

(* --- the theorem -------------------------------------------------------------------------------------------------- *)

Lemma lang_nonempty phi : nonempty (lang phi).
Proof.
  intros w H; apply (theorem_6_2 event var var_dec type_of phi) in H.
  eapply runs_nonempty; [|exact H]; apply compile_proper.
Qed.

Theorem valuations_are_words S phi : represents S (meaning S phi) (lang phi).
Proof.
  induction phi; cbn [Cel.meaning Words.lang].
  - intros i j mu; split.
    + intros [L [T M]]; exists (blank (slice S i (j - i)) ++ [(S j, [R])]); split; [eauto|].
      assert (K : i + length (blank (slice S i (j - i))) = j) by (rewrite blank_length, slice_length; lia).
      split.
      * split; [destruct (blank (slice S i (j - i))); discriminate|]; rewrite over_app, K; split.
        -- split; [apply over_slice|cbn; auto].
        -- rewrite app_length; cbn; lia.
      * eapply same_trans; [exact M|]; intros A p; rewrite val_app, K; cbn; split.
        -- intros [-> ->]; right; auto.
        -- intros [H|[[-> [->|[]]]|[]]]; [destruct (val_blank _ _ _ _ H)|auto].
    + intros [w [[es [e [-> T]]] [[N [O L]] M]]]; rewrite over_app in O; rewrite app_length in L; cbn in L.
      destruct O as [_ [E _]]; cbn in E; replace (i + length (blank es)) with j in * by lia; subst e.
      split; [lia|]; split; [exact T|]; eapply same_trans; [exact M|]; intros A p; rewrite val_app.
      replace (i + length (blank es)) with j by lia; cbn; split.
      * intros [H|[[-> [->|[]]]|[]]]; [destruct (val_blank _ _ _ _ H)|auto].
      * intros [-> ->]; right; auto.
  - intros i j mu; split.
    + intros [nu [H M]]; apply IHphi in H; destruct H as [w [W [P V]]].
      exists (remark event var (in_marks var A) w); split; [eauto|]; split; [apply spans_remark, P|].
      eapply same_trans; [exact M|]; eapply same_trans; [apply in_same, V|]; intros B p; symmetry; apply val_in.
    + intros [w [[u [U ->]] [P M]]]; apply spans_remark in P; exists (val i u); split.
      * apply IHphi; eauto using same_refl.
      * eapply same_trans; [exact M|]; intros B p; apply val_in.
  - intros i j mu; split.
    + intros [H C]; apply IHphi in H; destruct H as [w [W [P V]]]; exists w; split; [|auto]; split; [exact W|].
      destruct P as [_ [O _]]; eapply satisfies_passes; eauto.
    + intros [w [[W C] [P V]]]; split; [apply IHphi; eauto|]; destruct P as [_ [O _]]; eapply satisfies_passes; eauto.
  - apply seq_represents; auto using lang_nonempty.
  - assert (H := rounds_represent S _ _ _ _ (seq_represents S) seqw_nonempty IHphi (lang_nonempty phi)).
    intros i j mu; split.
    + intros [n R]; apply (proj1 (H n)) in R; destruct R as [w [W K]]; exists w; split; [exists n; exact W|exact K].
    + intros [w [[n W] K]]; exists n; apply (proj1 (H n)); eauto.
  - apply cseq_represents; auto using lang_nonempty.
  - assert (H := rounds_represent S _ _ _ _ (cseq_represents S) cseqw_nonempty IHphi (lang_nonempty phi)).
    intros i j mu; split.
    + intros [n R]; apply (proj1 (H n)) in R; destruct R as [w [W K]]; exists w; split; [exists n; exact W|exact K].
    + intros [w [[n W] K]]; exists n; apply (proj1 (H n)); eauto.
  - intros i j mu; split.
    + intros [nu [H M]]; apply IHphi in H; destruct H as [w [W [P V]]].
      exists (remark event var (keep var var_dec L) w); split; [eauto|]; split; [apply spans_remark, P|].
      eapply same_trans; [exact M|]; intros B p; rewrite val_keep, (V B p); tauto.
    + intros [w [[u [U ->]] [P M]]]; apply spans_remark in P; exists (val i u); split.
      * apply IHphi; eauto using same_refl.
      * eapply same_trans; [exact M|]; intros B p; apply val_keep.
  - intros i j mu; split.
    + intros [H F]; apply IHphi in H; destruct H as [w [W [P V]]]; exists w; split; [|auto]; split; [exact W|].
      destruct w as [|a w]; [destruct P as [[] _]; reflexivity|]; exists a, w; split; [auto|]; eapply first_marked; eauto.
    + intros [w [[W [a [u [-> MA]]]] [P V]]]; split; [apply IHphi; eauto|eapply first_marked; eauto].
  - intros i j mu; split.
    + intros [H|H]; [apply IHphi1 in H|apply IHphi2 in H]; destruct H as [w [W K]]; exists w; auto.
    + intros [w [[W|W] K]]; [left; apply IHphi1|right; apply IHphi2]; eauto.
  - intros i j mu; split.
    + intros [H K]; apply IHphi1 in H; apply IHphi2 in K; destruct H as [w [W [P V]]], K as [u [U [P' V']]].
      exists w; split; [|auto]; split; [exact W|]; exists u; split; [exact U|].
      destruct P as [_ [O L]], P' as [_ [O' L']]; apply (eqw_same S w u i); auto; [lia|].
      eapply same_trans; [apply same_sym, V|exact V'].
    + intros [w [[W [u [U E]]] [P V]]]; split; [apply IHphi1; eauto|]; apply IHphi2; exists u.
      assert (EL : length w = length u) by (clear - E; induction E; cbn; congruence).
      assert (EV : events w = events u) by (clear - E; induction E as [|x y l m [A _] _ IH]; cbn; [reflexivity|f_equal; assumption]).
      destruct P as [N [O L]]; assert (O' : over S i u) by (eapply over_events; [symmetry; exact EV|exact O]).
      split; [exact U|]; split; [split; [destruct u; [destruct w; [congruence|discriminate]|discriminate]|split; [exact O'|lia]]|].
      eapply same_trans; [exact V|]; apply (eqw_same S w u i); auto.
  - apply all_represents; auto using lang_nonempty.
  - intros i j mu; split.
    + intros [H K]; apply IHphi1 in H; destruct H as [w [W [P V]]]; exists w; split; [|auto]; split; [exact W|].
      intros [es [x [fs [X E]]]]; pose proof (lang_nonempty _ _ X) as NX; destruct P as [_ [O L]].
      assert (LE : length w = length es + (length x + length fs)).
      { rewrite <- (length_events w), E, !app_length, length_events; reflexivity. }
      assert (length x <> 0) by (destruct x; cbn; congruence).
      assert (OX : over S (i + length es) x).
      { assert (Z : over S i (blank es ++ x ++ blank fs)).
        { eapply over_events; [|exact O]; rewrite E; unfold Words.events, Words.blank.
          rewrite !map_app, !map_map; cbn; rewrite !map_id; reflexivity. }
        rewrite !over_app, blank_length in Z; apply Z. }
      apply (K (i + length es) (i + length es + length x - 1) (val (i + length es) x)); try lia.
      apply IHphi2; exists x; split; [exact X|]; split; [split; [exact NX|split; [exact OX|lia]]|apply same_refl].
    + intros [w [[W N] [P V]]]; split; [apply IHphi1; eauto|]; intros i' j' nu G1 G2 G3 H.
      apply IHphi2 in H; destruct H as [x [X [[NX [OX LX]] _]]]; destruct P as [_ [O L]]; apply N.
      exists (slice S i (i' - i)), x, (slice S (j' + 1) (j - j')); split; [exact X|].
      apply over_is_slice in O, OX; rewrite O, OX.
      assert (A : forall n m k, slice S k (n + m) = slice S k n ++ slice S (k + n) m).
      { clear; induction n; intros m k; cbn; [rewrite Nat.add_0_r; auto|]; f_equal; rewrite IHn; do 2 f_equal; lia. }
      replace (length w) with ((i' - i) + (length x + (j - j'))) by lia; rewrite !A.
      replace (i + (i' - i)) with i' by lia; replace (i' + length x) with (j' + 1) by lia; reflexivity.
  - intros i j mu; split.
    + intros [H K]; apply IHphi in H; destruct H as [w [W [P V]]]; exists w; split; [|auto]; split; [exact W|].
      apply strict_spec; apply (proj1 (strict_shapes (shape w) i)); intros p q r; rewrite <- !sup_shape; intros Hp Hr Q.
      eapply sup_same; [exact V|]; apply (K p q r); auto; (eapply sup_same; [apply same_sym, V|assumption]).
    + intros [w [[W K] [P V]]]; split; [apply IHphi; eauto|]; intros p q r Hp Hr Q.
      apply strict_spec in K; apply (proj1 (strict_shapes (shape w) i)) in K.
      eapply sup_same; [apply same_sym, V|]; apply sup_shape; apply (K p q r); auto;
        apply sup_shape; (eapply sup_same; [exact V|assumption]).
  - apply best_represents; [exact next_shapes|exact next_agrees|assumption].
  - apply best_represents; [|exact last_agrees|assumption].
    intros s r i E; rewrite (last_shapes s r false i E); unfold last_at_most; tauto.
  - apply (best_represents S _ _ _ (fun C1 C2 => ~ below C2 C1)); [|exact below_agrees|assumption].
    intros s r i E; rewrite <- not_true_iff_false, (max_shapes s r false i E); unfold below; intuition discriminate.
Qed.

(** Theorem 6.2 as printed, with the corrected cases: the valuations of phi over S from i to j are those that the
    automaton makes by its accepting runs over these events. *)
Corollary theorem_6_2_valuations S phi i j mu :
  meaning S phi i j mu <->
  exists w, accepts event var (compile event var var_dec type_of phi) w /\ spans S i j w /\ same mu (val i w).
Proof.
  rewrite (valuations_are_words S phi i j mu); split; intros [w [W K]]; exists w; (split; [apply theorem_6_2|]; assumption).
Qed.

End Bridge.

