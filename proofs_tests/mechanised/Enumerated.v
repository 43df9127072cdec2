(** A formula, evaluated: its automaton (Theorem 6.2), made I/O-deterministic (Proposition 5.5), with Algorithms 1 and 2.
    What is put out after the events up to j are the valuations of the formula from 0 to j, each of them once. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge Determinize Evaluate Checker.

Section Enumerated.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation word := (word event var).
Notation valuation := (valuation var).
Notation stream := (stream event).
Notation meaning := (meaning event var type_of).
Notation compile := (compile event var var_dec type_of).
Notation determinized := (determinized event var var_dec).
Notation accepts := (accepts event var).
Notation runs := (runs event var).
Notation events := (events event var).
Notation eqw := (eqw event var).
Notation same := (same var).
Notation val := (val event var).
Notation over := (over event var).
Notation spans := (spans event var).
Notation trace := (trace var).
Notation traced := (traced event var).

(** The valuation of a complex event with its marks. *)
Definition bound (t : trace) : valuation := fun A p => exists L, In (p, L) t /\ In A L.

Lemma bound_traced w : forall p t, same (bound (traced p w t)) (union var (val p w) (bound t)).
Proof.
  induction w as [|[e L] w IH]; intros p t A q; cbn [Evaluate.traced Bridge.val].
  - unfold union; tauto.
  - rewrite (IH (p + 1) (mark var p L t) A q); unfold union, bound; destruct L as [|X L]; cbn; [intuition|].
    split.
    + intros [H|[M [[E|I] J]]]; [tauto| |right; eauto]; injection E as <- <-; left; left; auto.
    + intros [[[-> J]|H]|[M [I J]]]; [right; exists (X :: L); auto|tauto|right; exists M; auto].
Qed.

Lemma val_traced w : same (val 0 w) (bound (traced 0 w [])).
Proof.
  intros A p; rewrite (bound_traced w 0 [] A p); unfold union, bound; split; [auto|]; intros [H|[L [[] _]]]; exact H.
Qed.

(** On each event and for each set of marks the automaton has one step at most, and writes the marks in one way. *)
Lemma grouped_written_once {T} (ts : list (marks var * T)) :
  forall L M S R, In (L, S) (grouped var var_dec ts) -> In (M, R) (grouped var var_dec ts) -> eqm var L M -> L = M.
Proof.
  induction ts as [|[K q] ts IH]; [intros L M S R []|].
  cbn [grouped]; destruct (existsb _ (grouped var var_dec ts)) eqn:X; intros L M S R I J E.
  - apply in_map_iff in I, J; destruct I as [[L' S'] [I1 I2]], J as [[M' R'] [J1 J2]]; cbn [fst snd] in *.
    assert (L' = L) by (destruct (same_marks var var_dec K L'); inversion I1; auto).
    assert (M' = M) by (destruct (same_marks var var_dec K M'); inversion J1; auto).
    subst; eapply IH; eauto.
  - assert (N : forall G P, In (G, P) (grouped var var_dec ts) -> ~ eqm var K G).
    { intros G P H E'; apply (same_marks_spec var var_dec) in E'; apply not_true_iff_false in X; apply X, existsb_exists; exists (G, P); auto. }
    destruct I as [I|I], J as [J|J]; [congruence| | |eapply IH; eauto].
    + inversion I; subst; exfalso; eapply N; eauto.
    + inversion J; subst; exfalso; eapply N; eauto using eqm_sym.
Qed.

Lemma one_word A w : forall T u, runs (determinized A) T w -> runs (determinized A) T u -> eqw w u -> w = u.
Proof.
  induction w as [|[e L] w IH]; intros T [|[f M] u] R K E; inversion E as [|a b w' u' [E1 E2] E']; subst; [reflexivity|].
  cbn in E1, E2; subst f; destruct R as [S [I R]], K as [S' [J K]]; cbn in I, J.
  assert (L = M) by (eapply grouped_written_once; eauto); subst M.
  assert (S = S') by (eapply grouped_once; eauto); subst S'; f_equal; eapply IH; eauto.
Qed.

Section Output.

Variable phi : formula.
Variable S : stream.

Notation A := (determinized (compile phi)).

Definition states_dec : dec (Q event var A) := list_eq_dec (compile_dec event var var_dec type_of phi).

(** What is put out after the event at j. *)
Definition put_out (j : nat) : list trace :=
  output event var A (updates event var A states_dec 0 (slice event S 0 (j + 1)) (at_start event var A)).

Lemma spans_slice j w : spans S 0 j w <-> events w = slice event S 0 (j + 1).
Proof.
  unfold Bridge.spans; rewrite over_is_slice; split.
  - intros [_ [O L]]; rewrite O; f_equal; lia.
  - intros E; assert (L : length w = j + 1) by (rewrite <- (length_events event var), E, slice_length; reflexivity).
    rewrite L; split; [intros ->; cbn in L; lia|split; [exact E|lia]].
Qed.

Lemma eqw_events u w : eqw u w -> events u = events w.
Proof. induction 1 as [|a b u w [E _] _ IH]; [reflexivity|]; cbn; f_equal; assumption. Qed.

Lemma eqw_val j u w : eqw u w -> spans S 0 j u -> spans S 0 j w -> same (val 0 u) (val 0 w).
Proof. intros E [_ [O L]] [_ [O' L']]; apply (eqw_same event var S u w 0 O O'); [lia|exact E]. Qed.

(** Exactly the meaning: *)
Theorem put_out_is_meaning j mu : meaning S phi 0 j mu <-> exists t, In t (put_out j) /\ same mu (bound t).
Proof.
  unfold put_out; destruct (proposition_5_5 event var var_dec (compile phi)) as [_ [P1 P2]]; split.
  - intros H; apply (theorem_6_2_valuations event var var_dec type_of) in H; destruct H as [u [U [SU M]]].
    destruct (P2 u U) as [w [E W]]; assert (SW : spans S 0 j w) by (eapply events_spans; [apply eqw_events, E|exact SU]).
    exists (traced 0 w []); split; [apply algorithm_2; exists w; split; [exact W|]; split; [apply spans_slice, SW|reflexivity]|].
    eapply same_trans; [exact M|]; eapply same_trans; [apply same_sym, (eqw_val j w u E SW SU)|apply val_traced].
  - intros [t [I M]]; apply algorithm_2 in I; destruct I as [w [W [EV ->]]]; destruct (P1 w W) as [u [E U]].
    assert (SW : spans S 0 j w) by (apply spans_slice, EV).
    assert (SU : spans S 0 j u) by (eapply events_spans; [symmetry; apply eqw_events, E|exact SW]).
    apply (theorem_6_2_valuations event var var_dec type_of); exists u; split; [exact U|]; split; [exact SU|].
    eapply same_trans; [exact M|]; eapply same_trans; [apply same_sym, val_traced|apply (eqw_val j w u E SW SU)].
Qed.

(** and nothing twice: what is put out at two places is two valuations. *)
Theorem put_out_once j m n s t : nth_error (put_out j) m = Some s -> nth_error (put_out j) n = Some t ->
  same (bound s) (bound t) -> m = n.
Proof.
  intros E F M.
  assert (D : NoDup (put_out j)).
  { apply no_repetitions; [exists (initial event var (compile phi)); reflexivity|intros q e; apply determinized_steps]. }
  assert (EQ : s = t).
  { pose proof (nth_error_In _ _ E) as I; pose proof (nth_error_In _ _ F) as J; unfold put_out in I, J.
    apply algorithm_2 in I, J; destruct I as [w [[q [[<-|[]] W]] [EV ->]]], J as [u [[q' [[<-|[]] U]] [EU ->]]]; f_equal.
    apply (one_word (compile phi) w (initial event var (compile phi)) u W U).
    pose proof (proj2 (spans_slice j w) EV) as [_ [OW LW]]; pose proof (proj2 (spans_slice j u) EU) as [_ [OU LU]].
    apply (eqw_same event var S w u 0 OW OU); [lia|].
    eapply same_trans; [apply val_traced|]; eapply same_trans; [exact M|apply same_sym, val_traced]. }
  subst t; apply (proj1 (NoDup_nth_error _) D); [apply nth_error_Some; congruence|congruence].
Qed.

End Output.

End Enumerated.
