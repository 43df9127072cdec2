(** Filter push-down, the normal form of equivalence/rewrite/normal_forms.py: the same valuations, and filters
    of one atom stand on event types and strategies only. Left out is what the program does beside: a filter that is there
    already is not written twice, and it stops where the form would be too large. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Tactics.

Section PushFilters.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Notation formula := (formula event var).
Notation condition := (condition event var).
Notation valuation := (valuation var).
Notation meaning := (meaning event var type_of).
Notation same := (same var).
Notation union := (union var).
Notation satisfies := (satisfies event var).
Notation has := (has var var_dec).
Notation equ := (equ var).
Notation equal := (equal event var type_of).
Notation restricted := (restricted var).
Notation mapped := (mapped var).
Notation cond := (cond event var).

(** The variables that some valuation of phi may bind. *)
Fixpoint bindable (phi : formula) : list var :=
  match phi with
  | Event _ _ R => [R]
  | In_ _ _ psi A => match bindable psi with [] => [] | bound => A :: bound end
  | Project _ _ L psi => filter (fun A => has A L) (bindable psi)
  | And _ _ phi1 phi2 => filter (fun A => has A (bindable phi2)) (bindable phi1)
  | Unless _ _ phi1 _ => bindable phi1
  | Seq _ _ phi1 phi2 | ContiguousSeq _ _ phi1 phi2 | Or _ _ phi1 phi2 | All _ _ phi1 phi2 => bindable phi1 ++ bindable phi2
  | Filter _ _ psi _ | Plus _ _ psi | ContiguousPlus _ _ psi | Start _ _ psi | Strict _ _ psi | Next _ _ psi | Last _ _ psi
  | Max _ _ psi => bindable psi
  end.

(** phi where each event that a variable of L is bound to satisfies P. *)
Definition narrowed (phi : formula) (L : list var) : list var := filter (fun A => has A (bindable phi)) L.

Fixpoint each (P : event -> bool) (phi : formula) (L : list var) : formula :=
  match narrowed phi L with
  | [] => phi
  | K => match phi with
    | Event _ _ R => Filter _ _ phi (Every _ _ R P)
    | In_ _ _ psi A => In_ _ _ (each P psi (if has A K then bindable psi else K)) A
    | Filter _ _ psi c => Filter _ _ (each P psi K) c
    | Unless _ _ phi1 phi2 => Unless _ _ (each P phi1 K) phi2
    | Next _ _ _ | Last _ _ _ | Max _ _ _ => fold_left (fun psi A => Filter _ _ psi (Every _ _ A P)) K phi
    | Seq _ _ phi1 phi2 => Seq _ _ (each P phi1 K) (each P phi2 K)
    | ContiguousSeq _ _ phi1 phi2 => ContiguousSeq _ _ (each P phi1 K) (each P phi2 K)
    | Or _ _ phi1 phi2 => Or _ _ (each P phi1 K) (each P phi2 K)
    | And _ _ phi1 phi2 => And _ _ (each P phi1 K) (each P phi2 K)
    | All _ _ phi1 phi2 => All _ _ (each P phi1 K) (each P phi2 K)
    | Plus _ _ psi => Plus _ _ (each P psi K)
    | ContiguousPlus _ _ psi => ContiguousPlus _ _ (each P psi K)
    | Project _ _ M psi => Project _ _ M (each P psi K)
    | Start _ _ psi => Start _ _ (each P psi K)
    | Strict _ _ psi => Strict _ _ (each P psi K)
    end
  end.

Fixpoint spoken_of (c : condition) : list var :=
  match c with
  | Every _ _ A _ => [A]
  | Conjunction _ _ c1 c2 | Disjunction _ _ c1 c2 => spoken_of c1 ++ spoken_of c2
  end.

Fixpoint holds_anyway (c : condition) (bound : list var) : bool :=
  match c with
  | Every _ _ A _ => negb (has A bound)
  | Conjunction _ _ c1 c2 => holds_anyway c1 bound && holds_anyway c2 bound
  | Disjunction _ _ c1 c2 => holds_anyway c1 bound || holds_anyway c2 bound
  end.

Definition disjoint (L K : list var) : bool := forallb (fun A => negb (has A K)) L.

(** phi FILTER c, the condition as far down as all that its variables are bound to is on one side. *)
Fixpoint whole (c : condition) (phi : formula) : formula :=
  let L := spoken_of c in
  let here := Filter _ _ phi c in
  let to_one_side make phi1 phi2 :=
    if disjoint L (bindable phi2) then make (whole c phi1) phi2
    else if disjoint L (bindable phi1) then make phi1 (whole c phi2) else here in
  if holds_anyway c (bindable phi) then phi else
  match phi with
  | Filter _ _ psi d => Filter _ _ (whole c psi) d
  | In_ _ _ psi A => if has A L then here else In_ _ _ (whole c psi) A
  | Project _ _ K psi => if forallb (fun A => has A K) L then Project _ _ K (whole c psi) else here
  | Seq _ _ phi1 phi2 => to_one_side (Seq _ _) phi1 phi2
  | ContiguousSeq _ _ phi1 phi2 => to_one_side (ContiguousSeq _ _) phi1 phi2
  | All _ _ phi1 phi2 => to_one_side (All _ _) phi1 phi2
  | Unless _ _ phi1 phi2 => Unless _ _ (whole c phi1) phi2
  | Or _ _ phi1 phi2 => Or _ _ (whole c phi1) (whole c phi2)
  | And _ _ phi1 phi2 => And _ _ (whole c phi1) (whole c phi2)
  | Start _ _ psi => Start _ _ (whole c psi)
  | Strict _ _ psi => Strict _ _ (whole c psi)
  | Event _ _ _ | Plus _ _ _ | ContiguousPlus _ _ _ | Next _ _ _ | Last _ _ _ | Max _ _ _ => here
  end.

Fixpoint filtered (phi : formula) (c : condition) : formula :=
  match c with
  | Every _ _ A P => each P phi [A]
  | Conjunction _ _ c1 c2 => filtered (filtered phi c1) c2
  | Disjunction _ _ _ _ => whole c phi
  end.

Fixpoint push_filters (phi : formula) : formula :=
  match phi with
  | Event _ _ _ => phi
  | Filter _ _ psi c => filtered (push_filters psi) c
  | In_ _ _ psi A => In_ _ _ (push_filters psi) A
  | Project _ _ L psi => Project _ _ L (push_filters psi)
  | Start _ _ psi => Start _ _ (push_filters psi)
  | Strict _ _ psi => Strict _ _ (push_filters psi)
  | Next _ _ psi => Next _ _ (push_filters psi)
  | Last _ _ psi => Last _ _ (push_filters psi)
  | Max _ _ psi => Max _ _ (push_filters psi)
  | Plus _ _ psi => Plus _ _ (push_filters psi)
  | ContiguousPlus _ _ psi => ContiguousPlus _ _ (push_filters psi)
  | Seq _ _ phi1 phi2 => Seq _ _ (push_filters phi1) (push_filters phi2)
  | ContiguousSeq _ _ phi1 phi2 => ContiguousSeq _ _ (push_filters phi1) (push_filters phi2)
  | Or _ _ phi1 phi2 => Or _ _ (push_filters phi1) (push_filters phi2)
  | And _ _ phi1 phi2 => And _ _ (push_filters phi1) (push_filters phi2)
  | All _ _ phi1 phi2 => All _ _ (push_filters phi1) (push_filters phi2)
  | Unless _ _ phi1 phi2 => Unless _ _ (push_filters phi1) (push_filters phi2)
  end.

(* --- what may be bound ---------------------------------------------------------------------------------------------- *)

Lemma in_filter_has A L K : In A (filter (fun B => has B K) L) <-> In A L /\ In A K.
Proof. rewrite filter_In, (has_spec var var_dec); tauto. Qed.

Lemma rounds_bindable (join : meanings var -> meanings var -> meanings var) (D : meanings var) L : (forall D E : meanings var, (forall i j mu A p, D i j mu -> mu A p -> In A L) ->
    (forall i j mu A p, E i j mu -> mu A p -> In A L) -> forall i j mu A p, join D E i j mu -> mu A p -> In A L) ->
  (forall i j mu A p, D i j mu -> mu A p -> In A L) -> forall n i j mu A p, rounds var join D n i j mu -> mu A p -> In A L.
Proof. intros J H; induction n as [|n IH]; cbn; [exact H|]; apply J; assumption. Qed.

Lemma bindable_spec S phi : forall i j mu A p, meaning S phi i j mu -> mu A p -> In A (bindable phi).
Proof.
  induction phi; intros i j mu B p; cbn [Cel.meaning bindable].
  - intros [_ [_ M]] K; apply M in K; left; symmetry; apply K.
  - intros [nu [K M]] H; apply M in H.
    assert (N : bindable phi <> []).
    { destruct H as [[_ H]|[_ [C H]]]; apply (IHphi i j nu) in H; auto; intros E; rewrite E in H; exact H. }
    destruct (bindable phi) as [|C bound] eqn:E; [congruence|]; destruct H as [[_ H]|[-> _]]; [right|left; reflexivity].
    eapply IHphi; eauto.
  - intros [K _]; apply (IHphi i j mu); exact K.
  - intros [k [mu1 [mu2 [_ [K1 [K2 M]]]]]] H; apply M in H; apply in_or_app; destruct H; eauto.
  - intros [n K]; revert n i j mu B p K; apply rounds_bindable; [|exact IHphi].
    intros D E H1 H2 i j mu B p [k [mu1 [mu2 [_ [K1 [K2 M]]]]]] H; apply M in H; destruct H; eauto.
  - intros [k [mu1 [mu2 [_ [K1 [K2 [_ [_ M]]]]]]]] H; apply M in H; apply in_or_app; destruct H; eauto.
  - intros [n K]; revert n i j mu B p K; apply rounds_bindable; [|exact IHphi].
    intros D E H1 H2 i j mu B p [k [mu1 [mu2 [_ [K1 [K2 [_ [_ M]]]]]]]] H; apply M in H; destruct H; eauto.
  - intros [nu [K M]] H; apply M in H; apply in_filter_has; destruct H; eauto.
  - intros [K _]; apply (IHphi i j mu); exact K.
  - intros [K|K] H; apply in_or_app; eauto.
  - intros [K1 K2] H; apply in_filter_has; eauto.
  - intros [i1 [j1 [i2 [j2 [mu1 [mu2 [_ [_ [_ [_ [K1 [K2 M]]]]]]]]]]]] H; apply M in H; apply in_or_app; destruct H; eauto.
  - intros [K _]; apply (IHphi1 i j mu); exact K.
  - intros [K _]; apply (IHphi i j mu); exact K.
  - intros [K _]; apply (IHphi i j mu); exact K.
  - intros [K _]; apply (IHphi i j mu); exact K.
  - intros [K _]; apply (IHphi i j mu); exact K.
Qed.

(* --- conditions on each event --------------------------------------------------------------------------------------- *)

Definition all_of (S : nat -> event) (P : event -> bool) (L : list var) (mu : valuation) : Prop :=
  forall A p, In A L -> mu A p -> P (S p) = true.

Lemma all_of_union S P L mu nu xi : same mu (union nu xi) -> all_of S P L mu <-> all_of S P L nu /\ all_of S P L xi.
Proof.
  intros M; unfold all_of; split.
  - intros H; split; intros A p I K; apply (H A p I), M; [left|right]; exact K.
  - intros [H1 H2] A p I K; apply M in K; destruct K as [K|K]; eauto.
Qed.

Lemma all_of_additive S P L : additive var (fun _ _ => all_of S P L).
Proof. intros i k j mu mu1 mu2 _ _ _; apply all_of_union. Qed.

Lemma narrowed_means S P phi L : equ (restricted (fun _ _ => all_of S P (narrowed phi L)) (meaning S phi))
                                     (restricted (fun _ _ => all_of S P L) (meaning S phi)).
Proof.
  intros i j mu; unfold Algebra.restricted; split; intros [K H]; (split; [exact K|]); intros A p I M; apply (H A p); auto.
  - apply in_filter_has; split; [exact I|eapply bindable_spec; eauto].
  - apply in_filter_has in I; apply I.
Qed.

Lemma fold_means S P K : forall phi, equ (meaning S (fold_left (fun psi A => Filter _ _ psi (Every _ _ A P)) K phi))
                                         (restricted (fun _ _ => all_of S P K) (meaning S phi)).
Proof.
  induction K as [|A K IH]; intros phi; cbn [fold_left].
  - symmetry; apply and_left; intros i j mu _ B p [].
  - rewrite IH; intros i j mu; unfold Algebra.restricted, all_of; cbn [Cel.meaning Cel.satisfies]; split.
    + intros [[H E] N]; split; [exact H|]; intros B p [<-|I]; [apply E|apply N, I].
    + intros [H N]; split; [split; [exact H|intros p; apply N; left; reflexivity]|intros B p I; apply N; right; exact I].
Qed.

Ltac exchange := intros ? ? ?; unfold Algebra.restricted; tauto.

Lemma each_means S P phi : forall L, equ (meaning S (each P phi L)) (restricted (fun _ _ => all_of S P L) (meaning S phi)).
Proof.
  induction phi; intros L'; rewrite <- narrowed_means; cbn [each];
    match goal with |- context [narrowed ?phi L'] =>
      assert (W : forall B, In B (narrowed phi L') -> In B (bindable phi)) by (intros B I; apply in_filter_has in I; apply I);
      destruct (narrowed phi L') as [|A0 K0] eqn:E; [symmetry; apply and_left; intros i j mu _ B p []|clear E; set (K := A0 :: K0) in *]
    end.
  - assert (A0 = R) by (destruct (W A0 (or_introl eq_refl)) as [X|[]]; congruence); subst A0.
    intros i j mu; cbn [Cel.meaning Cel.satisfies]; unfold Algebra.restricted, all_of; split; intros [H N]; (split; [exact H|]).
    + intros B p I; apply W in I; destruct I as [<-|[]]; apply N.
    + intros p; apply N; left; reflexivity.
  - rewrite !in_clause, IHphi; symmetry; apply map_restrict; intros i j mu nu H M; unfold all_of; split.
    + intros N B p I X; destruct (has A K) eqn:HA.
      * apply (N A p); [apply (has_spec var var_dec) in HA; exact HA|]; apply M; right; split; [reflexivity|exists B; exact X].
      * apply (N B p I), M; left; split; [|exact X]; intros ->; apply (has_spec var var_dec) in I; congruence.
    + intros N B p I X; apply M in X; destruct (has A K) eqn:HA.
      * assert (Y : exists C, nu C p) by (destruct X as [[_ X]|[_ [C X]]]; eauto); destruct Y as [C Y].
        apply (N C p); [eapply bindable_spec; eauto|exact Y].
      * destruct X as [[_ X]|[-> _]]; [apply (N B p I X)|]; apply (has_spec var var_dec) in I; congruence.
  - cbn [Cel.meaning]; intros i j mu; unfold Algebra.restricted; rewrite (IHphi K i j mu); unfold Algebra.restricted; tauto.
  - rewrite !seq_clause, IHphi1, IHphi2; symmetry; apply restrict_sequenced; auto using all_of_additive with cel.
  - rewrite !plus_clause, IHphi; symmetry; apply restrict_plus; auto using all_of_additive with cel.
  - rewrite !contiguous_seq_clause, IHphi1, IHphi2; symmetry; apply restrict_contiguous; auto using all_of_additive with cel.
  - rewrite !contiguous_plus_clause, IHphi; symmetry; apply restrict_contiguous_plus; auto using all_of_additive with cel.
  - rewrite !project_clause, IHphi; symmetry; apply map_restrict; intros i j mu nu H M; unfold all_of; split; intros N B p I X; apply (N B p I).
    + apply M; split; [|exact X]; apply W in I; cbn in I; apply in_filter_has in I; apply I.
    + apply M in X; apply X.
  - rewrite !start_clause, IHphi; exchange.
  - rewrite !or_clause, IHphi1, IHphi2; intros i j mu; unfold either, Algebra.restricted; tauto.
  - rewrite !and_clause, IHphi1, IHphi2; exchange.
  - rewrite !all_clause, IHphi1, IHphi2; symmetry; apply restrict_interleaved, all_of_union.
  - rewrite !unless_clause, IHphi1; exchange.
  - rewrite !strict_clause, IHphi; exchange.
  - apply fold_means.
  - apply fold_means.
  - apply fold_means.
Qed.

(* --- conditions as one piece ---------------------------------------------------------------------------------------- *)

Lemma satisfies_agrees S c mu nu : (forall A p, In A (spoken_of c) -> mu A p <-> nu A p) -> satisfies S mu c <-> satisfies S nu c.
Proof.
  induction c as [A P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; cbn; intros H.
  - split; intros K p L; apply K, H; auto.
  - rewrite IH1, IH2; [tauto|..]; intros A p I; apply H, in_or_app; auto.
  - rewrite IH1, IH2; [tauto|..]; intros A p I; apply H, in_or_app; auto.
Qed.

Lemma holds_anyway_spec S phi c : holds_anyway c (bindable phi) = true -> forall i j mu, meaning S phi i j mu -> satisfies S mu c.
Proof.
  intros H i j mu K; induction c as [A P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; cbn in *.
  - intros p L; apply (bindable_spec S phi i j mu A p K), (has_spec var var_dec) in L; rewrite L in H; discriminate.
  - apply andb_true_iff in H; destruct H; auto.
  - apply orb_true_iff in H; destruct H; auto.
Qed.

Lemma disjoint_spec L K A : disjoint L K = true -> In A L -> ~ In A K.
Proof. unfold disjoint; rewrite forallb_forall; intros H I J; specialize (H A I); apply (has_spec var var_dec) in J; rewrite J in H; discriminate. Qed.

Lemma right_binds_nothing S c phi i j mu mu1 mu2 : disjoint (spoken_of c) (bindable phi) = true -> meaning S phi i j mu2 ->
  same mu (union mu1 mu2) -> satisfies S mu c <-> satisfies S mu1 c.
Proof.
  intros D K M; apply satisfies_agrees; intros A p I; rewrite (M A p); split; [|left; assumption].
  intros [H|H]; [exact H|]; destruct (disjoint_spec _ _ A D I); eapply bindable_spec; eauto.
Qed.

Lemma left_binds_nothing S c phi i j mu mu1 mu2 : disjoint (spoken_of c) (bindable phi) = true -> meaning S phi i j mu1 ->
  same mu (union mu1 mu2) -> satisfies S mu c <-> satisfies S mu2 c.
Proof. intros D K M; apply (right_binds_nothing S c phi i j mu mu2 mu1 D K); rewrite M; apply union_comm. Qed.

Lemma whole_means S c phi : equ (meaning S (whole c phi)) (restricted (cond S c) (meaning S phi)).
Proof.
  induction phi; cbn [whole];
    match goal with |- context [holds_anyway c (bindable ?phi)] =>
      destruct (holds_anyway c (bindable phi)) eqn:H; [symmetry; apply and_left; intros i j mu; apply (holds_anyway_spec S phi c H)|clear H]
    end; try reflexivity.
  - destruct (has A (spoken_of c)) eqn:HA; [reflexivity|]; rewrite !in_clause, IHphi; symmetry; apply map_restrict.
    intros i j mu nu K M; apply satisfies_agrees; intros B p I; rewrite (M B p); unfold bound_as; split; [|intros X; left; split; [|exact X]].
    + intros [[_ X]|[-> _]]; [exact X|]; apply (has_spec var var_dec) in I; congruence.
    + intros ->; apply (has_spec var var_dec) in I; congruence.
  - cbn [Cel.meaning]; intros i j mu; unfold Algebra.restricted; rewrite (IHphi i j mu); unfold Algebra.restricted; tauto.
  - destruct (disjoint (spoken_of c) (bindable phi2)) eqn:D2; [|destruct (disjoint (spoken_of c) (bindable phi1)) eqn:D1; [|reflexivity]];
      rewrite !seq_clause; first [rewrite IHphi1|rewrite IHphi2]; intros i j mu; unfold sequenced, Algebra.restricted, cond; split.
    + intros [k [mu1 [mu2 [L [[K1 C] [K2 M]]]]]]; split; [exists k, mu1, mu2; auto|]; apply (right_binds_nothing S c phi2 (k + 1) j mu mu1 mu2 D2 K2 M), C.
    + intros [[k [mu1 [mu2 [L [K1 [K2 M]]]]]] C]; exists k, mu1, mu2; repeat split; auto; apply L || apply (right_binds_nothing S c phi2 (k + 1) j mu mu1 mu2 D2 K2 M), C || apply M.
    + intros [k [mu1 [mu2 [L [K1 [[K2 C] M]]]]]]; split; [exists k, mu1, mu2; auto|]; apply (left_binds_nothing S c phi1 i k mu mu1 mu2 D1 K1 M), C.
    + intros [[k [mu1 [mu2 [L [K1 [K2 M]]]]]] C]; exists k, mu1, mu2; repeat split; auto; apply L || apply (left_binds_nothing S c phi1 i k mu mu1 mu2 D1 K1 M), C || apply M.
  - destruct (disjoint (spoken_of c) (bindable phi2)) eqn:D2; [|destruct (disjoint (spoken_of c) (bindable phi1)) eqn:D1; [|reflexivity]];
      rewrite !contiguous_seq_clause; first [rewrite IHphi1|rewrite IHphi2]; intros i j mu; unfold contiguous, Algebra.restricted, cond; split.
    + intros [k [mu1 [mu2 [L [[K1 C] [K2 [F [G M]]]]]]]]; split; [exists k, mu1, mu2; auto 8|]; apply (right_binds_nothing S c phi2 (k + 1) j mu mu1 mu2 D2 K2 M), C.
    + intros [[k [mu1 [mu2 [L [K1 [K2 [F [G M]]]]]]]] C]; exists k, mu1, mu2.
      apply (right_binds_nothing S c phi2 (k + 1) j mu mu1 mu2 D2 K2 M) in C; auto 9.
    + intros [k [mu1 [mu2 [L [K1 [[K2 C] [F [G M]]]]]]]]; split; [exists k, mu1, mu2; auto 8|]; apply (left_binds_nothing S c phi1 i k mu mu1 mu2 D1 K1 M), C.
    + intros [[k [mu1 [mu2 [L [K1 [K2 [F [G M]]]]]]]] C]; exists k, mu1, mu2.
      apply (left_binds_nothing S c phi1 i k mu mu1 mu2 D1 K1 M) in C; auto 9.
  - destruct (forallb (fun A => has A L) (spoken_of c)) eqn:F; [|reflexivity]; rewrite !project_clause, IHphi; symmetry; apply map_restrict.
    intros i j mu nu K M; apply satisfies_agrees; intros B p I; rewrite (M B p); unfold only.
    rewrite forallb_forall in F; specialize (F B I); apply (has_spec var var_dec) in F; tauto.
  - rewrite !start_clause, IHphi; exchange.
  - rewrite !or_clause, IHphi1, IHphi2; intros i j mu; unfold either, Algebra.restricted; tauto.
  - rewrite !and_clause, IHphi1, IHphi2; exchange.
  - destruct (disjoint (spoken_of c) (bindable phi2)) eqn:D2; [|destruct (disjoint (spoken_of c) (bindable phi1)) eqn:D1; [|reflexivity]];
      rewrite !all_clause; first [rewrite IHphi1|rewrite IHphi2]; intros i j mu; unfold interleaved, Algebra.restricted, cond; split.
    + intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [[K1 C] [K2 M]]]]]]]]]]]]; split; [exists i1, j1, i2, j2, mu1, mu2; auto 9|].
      apply (right_binds_nothing S c phi2 i2 j2 mu mu1 mu2 D2 K2 M), C.
    + intros [[i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]] C]; exists i1, j1, i2, j2, mu1, mu2.
      apply (right_binds_nothing S c phi2 i2 j2 mu mu1 mu2 D2 K2 M) in C; auto 12.
    + intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [[K2 C] M]]]]]]]]]]]]; split; [exists i1, j1, i2, j2, mu1, mu2; auto 9|].
      apply (left_binds_nothing S c phi1 i1 j1 mu mu1 mu2 D1 K1 M), C.
    + intros [[i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]] C]; exists i1, j1, i2, j2, mu1, mu2.
      apply (left_binds_nothing S c phi1 i1 j1 mu mu1 mu2 D1 K1 M) in C; auto 12.
  - rewrite !unless_clause, IHphi1; exchange.
  - rewrite !strict_clause, IHphi; exchange.
Qed.

(* --- the same valuations -------------------------------------------------------------------------------------------- *)

Lemma filtered_means S c : forall phi, equ (meaning S (filtered phi c)) (restricted (cond S c) (meaning S phi)).
Proof.
  induction c as [A P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; intros phi; cbn [filtered].
  - rewrite each_means; intros i j mu; unfold Algebra.restricted, cond, all_of; cbn; split; intros [K H]; (split; [exact K|]).
    + intros p; apply H; auto.
    + intros B p [<-|[]]; apply H.
  - rewrite IH2, IH1; intros i j mu; unfold Algebra.restricted, cond; cbn; tauto.
  - apply whole_means.
Qed.

Theorem push_filters_equal phi : equal (push_filters phi) phi.
Proof.
  intros S; induction phi; cbn [push_filters]; [reflexivity|..].
  - rewrite !in_clause, IHphi; reflexivity.
  - rewrite filtered_means, IHphi; reflexivity.
  - rewrite !seq_clause, IHphi1, IHphi2; reflexivity.
  - rewrite !plus_clause, IHphi; reflexivity.
  - rewrite !contiguous_seq_clause, IHphi1, IHphi2; reflexivity.
  - rewrite !contiguous_plus_clause, IHphi; reflexivity.
  - rewrite !project_clause, IHphi; reflexivity.
  - rewrite !start_clause, IHphi; reflexivity.
  - rewrite !or_clause, IHphi1, IHphi2; reflexivity.
  - rewrite !and_clause, IHphi1, IHphi2; reflexivity.
  - rewrite !all_clause, IHphi1, IHphi2; reflexivity.
  - rewrite !unless_clause, IHphi1, IHphi2; reflexivity.
  - rewrite !strict_clause, IHphi; reflexivity.
  - rewrite !(next_clause _ _ _ var_dec); apply chosen_equ, IHphi.
  - rewrite !(last_clause _ _ _ var_dec); apply chosen_equ, IHphi.
  - rewrite !max_clause; apply chosen_equ, IHphi.
Qed.

(* --- where filters stand -------------------------------------------------------------------------------------------- *)

(** Event types and strategies, with filters. *)
Fixpoint ground (phi : formula) : bool :=
  match phi with
  | Event _ _ _ | Next _ _ _ | Last _ _ _ | Max _ _ _ => true
  | Filter _ _ psi _ => ground psi
  | _ => false
  end.

(** Each filter of one atom stands there; there is no AND in a filter but inside an OR. *)
Fixpoint pushed (phi : formula) : bool :=
  match phi with
  | Event _ _ _ => true
  | Filter _ _ psi (Every _ _ _ _) => ground psi && pushed psi
  | Filter _ _ psi (Conjunction _ _ _ _) => false
  | Filter _ _ psi (Disjunction _ _ _ _) => pushed psi
  | In_ _ _ psi _ | Project _ _ _ psi | Start _ _ psi | Strict _ _ psi | Next _ _ psi | Last _ _ psi | Max _ _ psi
  | Plus _ _ psi | ContiguousPlus _ _ psi => pushed psi
  | Seq _ _ phi1 phi2 | ContiguousSeq _ _ phi1 phi2 | Or _ _ phi1 phi2 | And _ _ phi1 phi2 | All _ _ phi1 phi2
  | Unless _ _ phi1 phi2 => pushed phi1 && pushed phi2
  end.

Lemma fold_pushed P K : forall phi, ground phi = true -> pushed phi = true ->
  pushed (fold_left (fun psi A => Filter _ _ psi (Every _ _ A P)) K phi) = true /\
  ground (fold_left (fun psi A => Filter _ _ psi (Every _ _ A P)) K phi) = true.
Proof. induction K as [|A K IH]; intros phi G H; cbn [fold_left]; [auto|]; apply IH; cbn; rewrite ?G, ?H; reflexivity. Qed.

Lemma each_pushed P phi : forall L, pushed phi = true -> pushed (each P phi L) = true /\ (ground phi = true -> ground (each P phi L) = true).
Proof.
  induction phi; intros L' H; cbn [each]; (destruct (narrowed _ L') as [|A0 K0]; [auto|set (K := A0 :: K0)]); cbn [pushed] in H;
    try (apply andb_true_iff in H; destruct H as [H1 H2]);
    try (cbn [pushed ground]; split; [|discriminate]; rewrite ?(proj1 (IHphi1 _ H1)), ?(proj1 (IHphi2 _ H2)), ?(proj1 (IHphi _ H)); auto; fail);
    try match goal with |- pushed (fold_left _ _ ?psi) = true /\ _ => destruct (fold_pushed P K psi eq_refl H); auto end.
  - auto.
  - destruct c; cbn [pushed ground]; [apply andb_true_iff in H; destruct H as [G H]|discriminate|];
      destruct (IHphi K H) as [I J]; rewrite I; [rewrite (J G)|]; auto.
Qed.

Lemma whole_pushed c1 c2 phi : let c := Disjunction _ _ c1 c2 in
  pushed phi = true -> pushed (whole c phi) = true /\ (ground phi = true -> ground (whole c phi) = true).
Proof.
  intros c; induction phi; intros H; cbn [whole]; (destruct (holds_anyway c _); [auto|]); cbn [pushed] in H;
    try (apply andb_true_iff in H; destruct H as [H1 H2]);
    try (cbn [pushed ground]; split; [|discriminate]; rewrite ?(proj1 (IHphi1 H1)), ?(proj1 (IHphi2 H2)), ?(proj1 (IHphi H)); auto; fail);
    try (destruct (disjoint _ _); [|destruct (disjoint _ _)]; cbn [pushed ground]; (split; [|discriminate]);
         cbn [pushed]; rewrite ?(proj1 (IHphi1 H1)), ?(proj1 (IHphi2 H2)), ?H1, ?H2; reflexivity);
    try (cbn; auto; fail).
  - destruct (has A _); cbn [pushed ground]; (split; [|discriminate]); [exact H|apply IHphi, H].
  - rename c0 into d; destruct d; cbn [pushed ground]; [apply andb_true_iff in H; destruct H as [G H]|discriminate|];
      destruct (IHphi H) as [I J]; rewrite I; [rewrite (J G)|]; auto.
  - destruct (forallb _ _); cbn [pushed ground]; (split; [|discriminate]); [apply IHphi, H|exact H].
Qed.

Lemma filtered_pushed c : forall phi, pushed phi = true -> pushed (filtered phi c) = true.
Proof.
  induction c as [A P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; intros phi H; cbn [filtered]; auto.
  - apply each_pushed, H.
  - apply whole_pushed, H.
Qed.

Theorem filters_are_pushed phi : pushed (push_filters phi) = true.
Proof.
  induction phi; cbn [push_filters pushed]; auto; [apply filtered_pushed, IHphi|..]; rewrite IHphi1, IHphi2; reflexivity.
Qed.

End PushFilters.
