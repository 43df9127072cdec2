(** I/O-determinization: tods21, Definition 5.4 and Proposition 5.5. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62.

Section Determinize.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Notation marks := (marks var).
Notation word := (word event var).
Notation cea := (cea event var).
Notation runs := (runs event var).
Notation accepts := (accepts event var).
Notation Q := (Q event var).
Notation initial := (initial event var).
Notation final := (final event var).
Notation step := (step event var).
Notation eqm := (eqm var).
Notation eqw := (eqw event var).
Notation same_marks := (same_marks var var_dec).

(** At most one initial state, and for an event and a set of marks at most one next state. *)
Definition io_deterministic (A : cea) : Prop :=
  (forall p q, In p (initial A) -> In q (initial A) -> p = q) /\
  forall q e L M p p', In (L, p) (step A q e) -> In (M, p') (step A q e) -> eqm L M -> p = p'.

(** For each set of marks, once, the states that are reached with it. *)
Fixpoint grouped {T : Type} (ts : list (marks * T)) : list (marks * list T) :=
  match ts with
  | [] => []
  | (L, q) :: ts =>
      let groups := grouped ts in
      if existsb (fun g => same_marks L (fst g)) groups
      then map (fun g => if same_marks L (fst g) then (fst g, q :: snd g) else g) groups
      else (L, [q]) :: groups
  end.

(** The states are the subsets that a run can reach, as lists. *)
Definition determinized (A : cea) : cea := {|
  Compile.Q := list (Q A);
  Compile.initial := [initial A];
  Compile.final := fun T => existsb (final A) T;
  Compile.step := fun T e => grouped (flat_map (fun q => step A q e) T)
|}.

Lemma eqm_refl L : eqm L L. Proof. intros A; tauto. Qed.
Lemma eqm_sym L M : eqm L M -> eqm M L. Proof. intros H A; rewrite (H A); tauto. Qed.
Lemma eqm_trans L M N : eqm L M -> eqm M N -> eqm L N. Proof. intros H K A; rewrite (H A); apply K. Qed.

Lemma same_spec L M : same_marks L M = true <-> eqm L M.
Proof. apply same_marks_spec. Qed.

(** No two groups have the same marks. *)
Lemma grouped_once {T} (ts : list (marks * T)) :
  forall L M S R, In (L, S) (grouped ts) -> In (M, R) (grouped ts) -> eqm L M -> S = R.
Proof.
  induction ts as [|[K q] ts IH]; [intros L M S R []|].
  cbn [grouped]; destruct (existsb _ (grouped ts)) eqn:X; intros L M S R I J E.
  - apply in_map_iff in I, J; destruct I as [[L' S'] [I1 I2]], J as [[M' R'] [J1 J2]]; cbn [fst snd] in *.
    assert (H : L' = L /\ M' = M) by (destruct (same_marks K L'), (same_marks K M'); inversion I1; inversion J1; auto).
    destruct H; subst L' M'; assert (S' = R') by (eapply IH; eauto); subst R'.
    assert (Y : same_marks K L = same_marks K M).
    { apply eq_true_iff_eq; rewrite !same_spec; split; intros H; eapply eqm_trans; eauto using eqm_sym. }
    rewrite Y in I1; destruct (same_marks K M); inversion I1; inversion J1; congruence.
  - assert (N : forall G P, In (G, P) (grouped ts) -> ~ eqm K G).
    { intros G P H E'; apply same_spec in E'; apply not_true_iff_false in X; apply X, existsb_exists; exists (G, P); auto. }
    destruct I as [I|I], J as [J|J]; [inversion I; inversion J; congruence| | |eapply IH; eauto].
    + inversion I; subst; exfalso; eapply N; eauto.
    + inversion J; subst; exfalso; eapply N; eauto using eqm_sym.
Qed.

Lemma grouped_different {T} (ts : list (marks * T)) : NoDup (map fst (grouped ts)).
Proof.
  induction ts as [|[K q] ts IH]; cbn [grouped]; [constructor|].
  destruct (existsb _ (grouped ts)) eqn:X.
  - rewrite map_map, (map_ext _ fst); [exact IH|]; intros [L S]; cbn; destruct (same_marks K L); reflexivity.
  - cbn; constructor; [|exact IH]; intros I; apply in_map_iff in I; destruct I as [[L S] [E I]]; cbn in E; subst.
    apply not_true_iff_false in X; apply X, existsb_exists; exists (K, S); split; [exact I|apply same_spec, eqm_refl].
Qed.

(** What Evaluate.v asks of an automaton so that nothing is put out twice. *)
Lemma determinized_steps A T e : NoDup (map fst (step (determinized A) T e)).
Proof. apply grouped_different. Qed.

Lemma determinized_is_deterministic A : io_deterministic (determinized A).
Proof.
  split; [intros p q [<-|[]] [<-|[]]; reflexivity|].
  intros q e L M p p' I J E; exact (grouped_once _ L M p p' I J E).
Qed.

(** A group has what is reached with its marks, all of it and nothing else. *)
Lemma grouped_sound {T} (ts : list (marks * T)) L S q :
  In (L, S) (grouped ts) -> In q S -> exists M, eqm L M /\ In (M, q) ts.
Proof.
  revert L S; induction ts as [|[K p] ts IH]; [intros L S []|].
  intros L S; cbn [grouped]; destruct (existsb _ (grouped ts)); intros I J.
  - apply in_map_iff in I; destruct I as [[L' S'] [I1 I2]]; cbn [fst snd] in I1.
    destruct (same_marks K L') eqn:E; inversion I1; subst.
    + apply same_spec in E; destruct J as [<-|J]; [exists K; split; [apply eqm_sym, E|left; auto]|].
      destruct (IH L S' I2 J) as [M [H1 H2]]; exists M; split; [exact H1|right; exact H2].
    + destruct (IH L S I2 J) as [M [H1 H2]]; exists M; split; [exact H1|right; exact H2].
  - destruct I as [I|I].
    + inversion I; subst; destruct J as [<-|[]]; exists L; split; [apply eqm_refl|left; auto].
    + destruct (IH L S I J) as [M [H1 H2]]; exists M; split; [exact H1|right; exact H2].
Qed.

Lemma grouped_complete {T} (ts : list (marks * T)) M q :
  In (M, q) ts -> exists L S, In (L, S) (grouped ts) /\ eqm L M /\ In q S.
Proof.
  induction ts as [|[K p] ts IH]; [intros []|]; intros I; cbn [grouped].
  destruct (existsb _ (grouped ts)) eqn:X.
  - destruct I as [I|I].
    + inversion I; subst; apply existsb_exists in X; destruct X as [[L S] [J E]]; cbn [fst] in E.
      exists L, (q :: S); split; [apply in_map_iff; exists (L, S); cbn [fst snd]; rewrite E; auto|].
      split; [apply eqm_sym, same_spec, E|left; auto].
    + destruct (IH I) as [L [S [J [E H]]]]; destruct (same_marks K L) eqn:Y.
      * exists L, (p :: S); split; [apply in_map_iff; exists (L, S); cbn [fst snd]; rewrite Y; auto|]; split; [exact E|right; exact H].
      * exists L, S; split; [apply in_map_iff; exists (L, S); cbn [fst snd]; rewrite Y; auto|auto].
  - destruct I as [I|I].
    + inversion I; subst; exists M, [q]; split; [left; auto|]; split; [apply eqm_refl|left; auto].
    + destruct (IH I) as [L [S [J H]]]; exists L, S; split; [right; exact J|exact H].
Qed.

Lemma determinized_runs A w : forall T, runs (determinized A) T w -> exists u q, eqw w u /\ In q T /\ runs A q u.
Proof.
  induction w as [|[e L] w IH]; intros T.
  - cbn; intros F; apply existsb_exists in F; destruct F as [q [I F]]; exists [], q; repeat split; auto; constructor.
  - intros [S [I R]]; cbn in I; apply IH in R; destruct R as [u [q [E [J R]]]].
    destruct (grouped_sound _ _ _ _ I J) as [M [H K]]; apply in_flat_map in K; destruct K as [p [P K]].
    exists ((e, M) :: u), p; split; [constructor; [split; auto|exact E]|]; split; [exact P|]; cbn; eauto.
Qed.

Lemma runs_determinized A u : forall q T, In q T -> runs A q u -> exists w, eqw w u /\ runs (determinized A) T w.
Proof.
  induction u as [|[e M] u IH]; intros q T I R.
  - exists []; split; [constructor|]; cbn; apply existsb_exists; exists q; auto.
  - destruct R as [p [J R]].
    destruct (grouped_complete (flat_map (fun q => step A q e) T) M p) as [L [S [K [E H]]]].
    { apply in_flat_map; eauto. }
    destruct (IH p S H R) as [w [W D]]; exists ((e, L) :: w); split; [constructor; [split; auto|exact W]|].
    exists S; split; [exact K|exact D].
Qed.

(** Proposition 5.5: an I/O-deterministic automaton with the same valuations; words that are equal as sets of marks are
    the same valuation. *)
Theorem proposition_5_5 A : io_deterministic (determinized A) /\
  (forall w, accepts (determinized A) w -> exists u, eqw w u /\ accepts A u) /\
  (forall u, accepts A u -> exists w, eqw w u /\ accepts (determinized A) w).
Proof.
  split; [apply determinized_is_deterministic|]; split.
  - intros w [T [[<-|[]] R]]; apply determinized_runs in R; destruct R as [u [q [E [I R]]]]; exists u; split; [exact E|exists q; auto].
  - intros u [q [I R]]; destruct (runs_determinized A u q (initial A) I R) as [w [E D]]; exists w; split; [exact E|].
    exists (initial A); split; [left; auto|exact D].
Qed.

(** On an I/O-deterministic automaton a word has at most one run: so runs can be counted, and listed without repetition. *)
Fixpoint path (A : cea) (q : Q A) (w : word) (qs : list (Q A)) : Prop :=
  match w, qs with
  | [], [] => final A q = true
  | (e, L) :: w, p :: qs => In (L, p) (step A q e) /\ path A p w qs
  | _, _ => False
  end.

Theorem one_run A : io_deterministic A -> forall u v, eqw u v -> forall q qs rs, path A q u qs -> path A q v rs -> qs = rs.
Proof.
  intros [_ D] u v E; induction E as [|[e L] [f M] u v [E1 E2] E IH]; intros q [|p qs] [|r rs]; cbn; try tauto.
  cbn in E1, E2; subst f; intros [I P] [J R]; assert (p = r) by (eapply D; eauto); subst r; f_equal; eauto.
Qed.

End Determinize.
