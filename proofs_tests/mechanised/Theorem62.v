(** Theorem 6.2 of tods21, corrected, and Theorem 7.2, for all operators with unary filters: the compiled automaton of a
    formula accepts exactly the words of the formula. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile.

Section Theorem62.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation marks := (marks var).
Notation word := (word event var).
Notation cea := (cea event var).
Notation runs := (runs event var).
Notation accepts := (accepts event var).
Notation proper := (proper event var).
Notation Q := (Q event var).
Notation initial := (initial event var).
Notation final := (final event var).
Notation step := (step event var).
Notation lang := (lang event var var_dec type_of).
Notation seqw := (seqw event var).
Notation cseqw := (cseqw event var).
Notation roundsw := (roundsw event var).
Notation marked := (marked event var).

(* --- steps -------------------------------------------------------------------------------------------------------- *)

Lemma in_retarget T U (f : T -> U) ts L q :
  In (L, q) (retarget var f ts) <-> exists p, In (L, p) ts /\ q = f p.
Proof.
  unfold retarget; rewrite in_map_iff; split.
  - intros [[M p] [E I]]; cbn in E; inversion E; subst; eauto.
  - intros [p [I ->]]; exists (L, p); auto.
Qed.

Lemma in_bridges T U (fin : T -> bool) (to : list U) ts L q :
  In (L, q) (bridges var fin to ts) <-> exists p, In (L, p) ts /\ fin p = true /\ In q to.
Proof.
  unfold bridges; rewrite in_flat_map; split.
  - intros [[M p] [I J]]; cbn in J; destruct (fin p) eqn:F; [|inversion J].
    apply in_map_iff in J; destruct J as [q' [E J]]; inversion E; subst; eauto.
  - intros [p [I [F J]]]; exists (L, p); split; [assumption|]; cbn; rewrite F; apply in_map_iff; eauto.
Qed.

Lemma in_marked T (ts : list (marks * T)) L q :
  In (L, q) (filter (is_marked var) ts) <-> In (L, q) ts /\ L <> [].
Proof.
  rewrite filter_In; unfold is_marked; cbn; destruct L; split; intros [H K]; split; auto; congruence.
Qed.

Lemma in_starting A e L q :
  In (L, q) (starting event var A e) <-> exists p, In p (initial A) /\ In (L, q) (step A p e).
Proof. unfold starting; rewrite in_flat_map; firstorder. Qed.

Lemma runs_nonempty A w : proper A -> accepts A w -> w <> [].
Proof.
  intros P [q [I R]] ->; cbn in R; rewrite (P q I) in R; discriminate.
Qed.

(** A part of an automaton with no steps out of it has the same runs. *)
Lemma runs_embedded (A C : cea) (f : Q A -> Q C) :
  (forall p, final C (f p) = final A p) ->
  (forall p e, step C (f p) e = retarget var f (step A p e)) ->
  forall w p, runs C (f p) w <-> runs A p w.
Proof.
  intros F S; induction w as [|[e L] w IH]; intros p; cbn.
  - rewrite F; tauto.
  - rewrite S; split.
    + intros [q [I R]]; apply in_retarget in I; destruct I as [p' [I ->]]; exists p'; split; [assumption|]; apply IH, R.
    + intros [p' [I R]]; exists (f p'); split; [apply in_retarget; eauto|apply IH, R].
Qed.

(* --- R, IN, PROJECT, FILTER, OR ----------------------------------------------------------------------------------- *)

Lemma event_words R w :
  accepts (event_cea event var var_dec type_of R) w <-> exists es e, w = blank event var es ++ [(e, [R])] /\ type_of e = R.
Proof.
  assert (H : forall w, runs (event_cea event var var_dec type_of R) true w <-> w = []).
  { intros [|[e L] u]; cbn; [tauto|]; split; [intros [q [[] _]]|discriminate]. }
  assert (G : runs (event_cea event var var_dec type_of R) false w <->
              exists es e, w = blank event var es ++ [(e, [R])] /\ type_of e = R).
  { induction w as [|[e L] w IH].
    - cbn; split; [discriminate|]; intros [es [e [E _]]]; destruct es; discriminate.
    - cbn; split.
      + intros [q [[E|I] K]].
        * inversion E; subst; apply IH in K; destruct K as [es [e' [-> T]]]; exists (e :: es), e'; auto.
        * destruct (var_dec (type_of e) R); [|inversion I].
          destruct I as [E|[]]; inversion E; subst; apply H in K; subst; exists [], e; auto.
      + intros [[|e' es] [e1 [E T]]]; cbn in E; inversion E; subst.
        * exists true; split; [|reflexivity]; cbn; right; destruct (var_dec (type_of e1) (type_of e1)); [left; reflexivity|congruence].
        * exists false; split; [left; reflexivity|apply IH; exists es, e1; auto]. }
  unfold accepts; cbn [Compile.initial event_cea]; split.
  - intros [q [[<-|[]] K]]; apply G, K.
  - intros K; exists false; split; [left; reflexivity|apply G, K].
Qed.

Lemma remarked_runs f A w : forall q,
  runs (remarked event var f A) q w <-> exists u, runs A q u /\ w = remark event var f u.
Proof.
  induction w as [|[e L] w IH]; intros q; cbn.
  - split; [intros F; exists []; auto|]; intros [[|a u] [R E]]; [exact R|discriminate].
  - split.
    + intros [q' [I R]]; apply in_map_iff in I; destruct I as [[M p] [E I]]; cbn in E; inversion E; subst.
      apply IH in R; destruct R as [u [R ->]]; exists ((e, M) :: u); cbn; eauto.
    + intros [[|[e' M] u] [R E]]; [discriminate|]; cbn in *; inversion E; subst.
      destruct R as [q' [I R]]; exists q'; split; [apply in_map_iff; exists (M, q'); auto|apply IH; eauto].
Qed.

Lemma filter_runs X P A w : forall q,
  runs (filter_cea event var var_dec X P A) q w <-> runs A q w /\ passes event var (Every event var X P) w.
Proof.
  induction w as [|[e L] w IH]; intros q; cbn.
  - split; [intros H; split; [exact H|constructor]|tauto].
  - split.
    + intros [q' [I R]]; apply filter_In in I; destruct I as [I K]; cbn in K; apply IH in R; destruct R as [R F].
      split; [exists q'; auto|]; constructor; [|exact F].
      cbn; intros J; apply (has_spec var var_dec) in J; rewrite J in K; exact K.
    + intros [[q' [I R]] F]; inversion F; subst; cbn in *; exists q'; split; [|apply IH; auto].
      apply filter_In; split; [assumption|]; cbn; destruct (has var var_dec X L) eqn:J; [|reflexivity].
      apply has_spec in J; auto.
Qed.

Lemma union_accepts A B w : accepts (union_cea event var A B) w <-> accepts A w \/ accepts B w.
Proof.
  assert (HA : forall p, runs (union_cea event var A B) (inl p) w <-> runs A p w)
    by (intros p; apply (runs_embedded A (union_cea event var A B) inl); auto).
  assert (HB : forall p, runs (union_cea event var A B) (inr p) w <-> runs B p w)
    by (intros p; apply (runs_embedded B (union_cea event var A B) inr); auto).
  unfold accepts; cbn [Compile.initial union_cea]; split.
  - intros [q [I R]]; apply in_app_or in I; destruct I as [I|I]; apply in_map_iff in I; destruct I as [p [<- I]];
      [left|right]; exists p; split; auto; [apply HA|apply HB]; exact R.
  - intros [[p [I R]]|[p [I R]]]; [exists (inl p)|exists (inr p)]; (split; [apply in_or_app|]);
      [left; apply in_map|apply HA|right; apply in_map|apply HB]; assumption.
Qed.

Lemma union_proper A B : proper A -> proper B -> proper (union_cea event var A B).
Proof.
  intros PA PB q I; apply in_app_or in I; destruct I as [I|I]; apply in_map_iff in I; destruct I as [p [<- I]]; cbn; auto.
Qed.

Lemma filtered_accepts c : forall A w,
  accepts (filtered event var var_dec c A) w <-> accepts A w /\ passes event var c w.
Proof.
  induction c as [X P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; intros A w; cbn [filtered passes].
  - unfold accepts; cbn [Compile.initial filter_cea]; split.
    + intros [q [I R]]; apply filter_runs in R; destruct R; split; eauto.
    + intros [[q [I R]] F]; exists q; split; [assumption|]; apply filter_runs; auto.
  - rewrite IH2, IH1; tauto.
  - rewrite union_accepts, IH1, IH2; tauto.
Qed.

Lemma filtered_proper c : forall A, proper A -> proper (filtered event var var_dec c A).
Proof.
  induction c as [X P'|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; intros A P; cbn [filtered]; [exact P|auto|apply union_proper; auto].
Qed.

(* --- ; and + ------------------------------------------------------------------------------------------------------ *)

Lemma sequence_runs A B w : forall p,
  runs (sequence_cea event var A B) (inl p) w <->
  exists u v, w = u ++ v /\ u <> [] /\ runs A p u /\ accepts B v.
Proof.
  assert (HB : forall w p, runs (sequence_cea event var A B) (inr p) w <-> runs B p w)
    by (intros; apply (runs_embedded B (sequence_cea event var A B) inr); auto).
  induction w as [|[e L] w IH]; intros p.
  - cbn; split; [discriminate|]; intros [[|a u] [v [E [N _]]]]; [congruence|discriminate].
  - cbn [Compile.runs]; split.
    + intros [q [I R]]; cbn in I; apply in_app_or in I; destruct I as [I|I].
      * apply in_retarget in I; destruct I as [p' [I ->]]; apply IH in R; destruct R as [u [v [-> [N [R K]]]]].
        exists ((e, L) :: u), v; cbn; repeat split; auto; [discriminate|eauto].
      * apply in_bridges in I; destruct I as [p' [I [F J]]]; apply in_map_iff in J; destruct J as [q0 [<- J]].
        apply HB in R; exists [(e, L)], w; cbn; repeat split; [discriminate|eauto|exists q0; auto].
    + intros [[|[e' M] u] [v [E [N [R K]]]]]; [congruence|]; cbn in E; inversion E; subst.
      destruct R as [p' [I R]]; destruct u as [|a u].
      * destruct K as [q0 [J K]]; exists (inr q0); split; [|apply HB, K].
        cbn; apply in_or_app; right; apply in_bridges; exists p'; repeat split; auto; apply in_map, J.
      * exists (inl p'); split; [cbn; apply in_or_app; left; apply in_retarget; eauto|].
        apply IH; exists (a :: u), v; repeat split; auto; discriminate.
Qed.

Lemma sequence_accepts A B w : proper A ->
  accepts (sequence_cea event var A B) w <-> seqw (accepts A) (accepts B) w.
Proof.
  intros P; unfold seqw; split.
  - intros [q [I R]]; cbn in I; apply in_map_iff in I; destruct I as [p [<- I]].
    apply sequence_runs in R; destruct R as [u [v [-> [N [R K]]]]]; exists u, v; repeat split; auto; exists p; auto.
  - intros [u [v [K [M ->]]]]; pose proof (runs_nonempty A u P K) as N; destruct K as [p [I R]].
    exists (inl p); split; [apply in_map, I|apply sequence_runs; eauto 10].
Qed.

Lemma iterate_has A w : forall p, runs A p w -> runs (iterate_cea event var A) p w.
Proof.
  induction w as [|[e L] w IH]; intros p; cbn; [auto|].
  intros [q [I R]]; exists q; split; [apply in_or_app; auto|apply IH, R].
Qed.

Lemma iterate_join A u v : u <> [] -> forall p, runs A p u -> accepts (iterate_cea event var A) v ->
  runs (iterate_cea event var A) p (u ++ v).
Proof.
  induction u as [|[e L] u IH]; [congruence|]; intros _ p [q [I R]] K; cbn; destruct u as [|a u].
  - destruct K as [q0 [J K]]; exists q0; split; [|exact K].
    apply in_or_app; right; apply in_bridges; exists q; auto.
  - exists q; split; [apply in_or_app; auto|]; apply IH; auto; discriminate.
Qed.

Lemma iterate_splits A w : forall p, runs (iterate_cea event var A) p w ->
  runs A p w \/ exists u v n, w = u ++ v /\ u <> [] /\ runs A p u /\ roundsw seqw (accepts A) n v.
Proof.
  induction w as [|[e L] w IH]; intros p; cbn; [auto|].
  intros [q [I R]]; apply in_app_or in I; destruct I as [I|I].
  - apply IH in R; destruct R as [R|[u [v [n [-> [N [R K]]]]]]]; [eauto|].
    right; exists ((e, L) :: u), v, n; repeat split; auto; [discriminate|cbn; eauto].
  - apply in_bridges in I; destruct I as [p' [I [F J]]]; apply IH in R; right; exists [(e, L)], w.
    destruct R as [R|[u [v [n [-> [N [R K]]]]]]].
    + exists 0; cbn; repeat split; [discriminate|eauto|exists q; auto].
    + exists (S n); cbn; repeat split; [discriminate|eauto|]; exists u, v; repeat split; auto; exists q; auto.
Qed.

Lemma iterate_accepts A w : proper A ->
  accepts (iterate_cea event var A) w <-> exists n, roundsw seqw (accepts A) n w.
Proof.
  intros P; split.
  - intros [q [I R]]; apply iterate_splits in R; destruct R as [R|[u [v [n [-> [N [R K]]]]]]].
    + exists 0; exists q; auto.
    + exists (S n); exists u, v; repeat split; auto; exists q; auto.
  - intros [n K]; revert w K; induction n as [|n IH]; intros w K.
    + destruct K as [q [I R]]; exists q; split; [exact I|apply iterate_has, R].
    + destruct K as [u [v [K [M ->]]]]; pose proof (runs_nonempty A u P K) as N; destruct K as [q [I R]].
      exists q; split; [exact I|]; apply iterate_join; auto.
Qed.

(* --- : and :+ ----------------------------------------------------------------------------------------------------- *)

Definition begins_marked (w : word) : Prop := exists a v, w = a :: v /\ marked a.

Lemma contiguous_runs A B w : forall p,
  runs (contiguous_sequence_cea event var A B) (inl p) w <->
  exists u a v, w = (u ++ [a]) ++ v /\ runs A p (u ++ [a]) /\ marked a /\
    runs (contiguous_sequence_cea event var A B) (inr None) v.
Proof.
  induction w as [|[e L] w IH]; intros p.
  - cbn; split; [discriminate|]; intros [u [a [v [E _]]]]; destruct u; discriminate.
  - cbn [Compile.runs]; split.
    + intros [q [I R]]; cbn in I; apply in_app_or in I; destruct I as [I|I].
      * apply in_retarget in I; destruct I as [p' [I ->]]; apply IH in R; destruct R as [u [a [v [-> [R [M K]]]]]].
        exists ((e, L) :: u), a, v; cbn; repeat split; eauto.
      * apply in_bridges in I; destruct I as [p' [I [F J]]]; apply in_marked in I; destruct I as [I N].
        destruct J as [<-|[]]; exists [], (e, L), w; cbn; repeat split; eauto.
    + intros [[|[e' M] u] [a [v [E [R [N K]]]]]]; cbn in E; inversion E; subst.
      * cbn in R; destruct R as [p' [I F]]; exists (inr None); split; [|exact K].
        cbn; apply in_or_app; right; apply in_bridges; exists p'; repeat split; [apply in_marked; auto|exact F|left; auto].
      * cbn in R; destruct R as [p' [I R]]; exists (inl p'); split; [cbn; apply in_or_app; left; apply in_retarget; eauto|].
        apply IH; exists u, a, v; auto.
Qed.

Lemma meeting_runs A B v :
  runs (contiguous_sequence_cea event var A B) (inr None) v <-> begins_marked v /\ accepts B v.
Proof.
  assert (HB : forall w p, runs (contiguous_sequence_cea event var A B) (inr (Some p)) w <-> runs B p w)
    by (intros; apply (runs_embedded B (contiguous_sequence_cea event var A B) (fun p => inr (Some p))); auto).
  destruct v as [|[e L] v].
  - cbn; split; [discriminate|]; intros [[a [u [E _]]] _]; discriminate.
  - cbn [Compile.runs]; split.
    + intros [q [I R]]; cbn in I; apply in_retarget in I; destruct I as [p [I ->]]; apply in_marked in I; destruct I as [I N].
      apply in_starting in I; destruct I as [q0 [J I]]; apply HB in R; split; [exists (e, L), v; auto|].
      exists q0; split; [exact J|cbn; eauto].
    + intros [[a [u [E N]]] [q0 [J [p [I R]]]]]; inversion E; subst; exists (inr (Some p)); split; [|apply HB, R].
      cbn; apply in_retarget; exists p; split; [|reflexivity]; apply in_marked; split; [apply in_starting; eauto|exact N].
Qed.

Lemma contiguous_accepts A B w :
  accepts (contiguous_sequence_cea event var A B) w <-> cseqw (accepts A) (accepts B) w.
Proof.
  unfold cseqw; split.
  - intros [q [I R]]; cbn in I; apply in_map_iff in I; destruct I as [p [<- I]].
    apply contiguous_runs in R; destruct R as [u [a [v [-> [R [M K]]]]]].
    apply meeting_runs in K; destruct K as [[b [v' [-> N]]] K]; exists u, a, b, v'; repeat split; auto; exists p; auto.
  - intros [u [a [b [v [[p [I R]] [K [M [N ->]]]]]]]]; exists (inl p); split; [apply in_map, I|].
    apply contiguous_runs; exists u, a, (b :: v); repeat split; auto; apply meeting_runs; split; [|exact K]; exists b, v; auto.
Qed.

Lemma in_onwards A (ts : list (marks * Q A)) L q :
  In (L, q) (retarget var Some ts ++ bridges var (final A) [None] (filter (is_marked var) ts)) <->
  exists p, In (L, p) ts /\ (q = Some p \/ (q = None /\ final A p = true /\ L <> [])).
Proof.
  rewrite in_app_iff, in_retarget, in_bridges; split.
  - intros [[p [I ->]]|[p [I [F [<-|[]]]]]]; [eauto|]; apply in_marked in I; destruct I; eauto 8.
  - intros [p [I [->|[-> [F N]]]]]; [left; eauto|right; exists p; repeat split; auto; [apply in_marked; auto|left; auto]].
Qed.

Lemma rounds_meeting A v :
  runs (contiguous_iterate_cea event var A) None v <->
  begins_marked v /\ exists q, In q (initial A) /\ runs (contiguous_iterate_cea event var A) (Some q) v.
Proof.
  destruct v as [|[e L] v].
  - cbn; split; [discriminate|]; intros [[a [u [E _]]] _]; discriminate.
  - cbn [Compile.runs]; split.
    + intros [q [I R]]; cbn in I; apply in_onwards in I; destruct I as [p [I K]]; apply in_marked in I; destruct I as [I N].
      apply in_starting in I; destruct I as [q0 [J I]]; split; [exists (e, L), v; auto|].
      exists q0; split; [exact J|]; exists q; split; [cbn; apply in_onwards; eauto|exact R].
    + intros [[a [u [E N]]] [q0 [J [q [I R]]]]]; inversion E; subst; exists q; split; [|exact R].
      cbn in I; apply in_onwards in I; destruct I as [p [I K]]; cbn; apply in_onwards; exists p; split; [|exact K].
      apply in_marked; split; [apply in_starting; eauto|exact N].
Qed.

Lemma rounds_has A w : forall p, runs A p w -> runs (contiguous_iterate_cea event var A) (Some p) w.
Proof.
  induction w as [|[e L] w IH]; intros p; cbn; [auto|].
  intros [q [I R]]; exists (Some q); split; [apply in_onwards; eauto|apply IH, R].
Qed.

Lemma rounds_join A u a v : marked a -> forall p, runs A p (u ++ [a]) ->
  runs (contiguous_iterate_cea event var A) None v -> runs (contiguous_iterate_cea event var A) (Some p) ((u ++ [a]) ++ v).
Proof.
  intros M; induction u as [|[e L] u IH]; intros p; cbn.
  - destruct a as [e L]; cbn in *; intros [q [I F]] K; exists None; split; [apply in_onwards; eauto 8|exact K].
  - intros [q [I R]] K; exists (Some q); split; [apply in_onwards; eauto|apply IH; auto].
Qed.

Lemma rounds_splits A w : forall p, runs (contiguous_iterate_cea event var A) (Some p) w ->
  runs A p w \/ exists u a v n, w = (u ++ [a]) ++ v /\ runs A p (u ++ [a]) /\ marked a /\ begins_marked v /\
    roundsw cseqw (accepts A) n v.
Proof.
  induction w as [|[e L] w IH]; intros p; cbn; [auto|].
  intros [q [I R]]; apply in_onwards in I; destruct I as [p' [I [->|[-> [F N]]]]].
  - apply IH in R; destruct R as [R|[u [a [v [n [-> [R K]]]]]]]; [eauto|].
    right; exists ((e, L) :: u), a, v, n; cbn; split; [reflexivity|]; split; [eauto|exact K].
  - apply rounds_meeting in R; destruct R as [B [q0 [J R]]]; apply IH in R; right; exists [], (e, L), w.
    destruct R as [R|[u [a [v [n [-> [R [M [[b [v' [-> B']]] K]]]]]]]]].
    + exists 0; cbn; split; [reflexivity|]; split; [eauto|]; repeat split; auto; exists q0; auto.
    + exists (S n); cbn; split; [reflexivity|]; split; [eauto|]; repeat split; auto.
      exists u, a, b, v'; repeat split; auto; exists q0; auto.
Qed.

Lemma contiguous_iterate_accepts A w :
  accepts (contiguous_iterate_cea event var A) w <-> exists n, roundsw cseqw (accepts A) n w.
Proof.
  split.
  - intros [q [I R]]; cbn in I; apply in_map_iff in I; destruct I as [p [<- I]].
    apply rounds_splits in R; destruct R as [R|[u [a [v [n [-> [R [M [[b [v' [-> B]]] K]]]]]]]]].
    + exists 0; exists p; auto.
    + exists (S n); exists u, a, b, v'; repeat split; auto; exists p; auto.
  - intros [n K]; assert (H : exists p, In p (initial A) /\ runs (contiguous_iterate_cea event var A) (Some p) w).
    { revert w K; induction n as [|n IH]; intros w K.
      - destruct K as [q [I R]]; exists q; split; [exact I|apply rounds_has, R].
      - destruct K as [u [a [b [v [[p [I R]] [K [M [N ->]]]]]]]]; exists p; split; [exact I|].
        apply rounds_join; auto; apply rounds_meeting; split; [exists b, v; auto|apply IH, K]. }
    destruct H as [p [I R]]; exists (Some p); split; [apply in_map, I|exact R].
Qed.

(* --- START -------------------------------------------------------------------------------------------------------- *)

Lemma start_accepts A w : accepts (start_cea event var A) w <-> accepts A w /\ begins_marked w.
Proof.
  assert (HA : forall w p, runs (start_cea event var A) (Some p) w <-> runs A p w)
    by (intros; apply (runs_embedded A (start_cea event var A) Some); auto).
  split.
  - intros [q [[<-|[]] R]]; destruct w as [|[e L] w]; [discriminate|].
    destruct R as [q [I R]]; cbn in I; apply in_retarget in I; destruct I as [p [I ->]]; apply in_marked in I.
    destruct I as [I N]; apply in_starting in I; destruct I as [q0 [J I]]; apply HA in R.
    split; [exists q0; split; [exact J|cbn; eauto]|exists (e, L), w; auto].
  - intros [[q0 [J R]] [a [v [-> N]]]]; destruct a as [e L]; destruct R as [p [I R]].
    exists None; split; [left; auto|]; exists (Some p); split; [|apply HA, R].
    cbn; apply in_retarget; exists p; split; [|auto]; apply in_marked; split; [apply in_starting; eauto|exact N].
Qed.

(* --- AND ---------------------------------------------------------------------------------------------------------- *)

Lemma subset_of_spec L M : subset_of var var_dec L M = true <-> (forall x, In x L -> In x M).
Proof.
  unfold subset_of; rewrite forallb_forall; split; intros H x I; apply (has_spec var var_dec); auto.
Qed.

Lemma same_marks_spec L M : same_marks var var_dec L M = true <-> eqm var L M.
Proof.
  unfold same_marks, eqm; rewrite andb_true_iff, !subset_of_spec; firstorder.
Qed.

Lemma conjunction_runs A B w : forall p q,
  runs (conjunction_cea event var var_dec A B) (p, q) w <->
  runs A p w /\ exists u, runs B q u /\ eqw event var w u.
Proof.
  induction w as [|[e L] w IH]; intros p q; cbn [Compile.runs].
  - cbn; rewrite andb_true_iff; split.
    + intros [F G]; split; [exact F|]; exists []; split; [exact G|constructor].
    + intros [F [u [G E]]]; inversion E; subst; auto.
  - split.
    + intros [[p' q'] [I R]]; cbn in I; apply in_flat_map in I; destruct I as [[L' p1] [I J]].
      apply in_flat_map in J; destruct J as [[M q1] [J K]]; cbn in J, K; destruct (same_marks var var_dec L' M) eqn:E; [|inversion K].
      destruct K as [K|[]]; inversion K; subst; apply IH in R; destruct R as [R [u [T V]]].
      split; [eauto|]; exists ((e, M) :: u); split; [cbn; eauto|].
      constructor; [split; [reflexivity|apply same_marks_spec, E]|exact V].
    + intros [[p' [I R]] [u [T V]]]; inversion V as [|a b w' u' [E1 E2] V']; subst; destruct b as [e' M]; cbn in E1, E2; subst.
      destruct T as [q' [J T]]; exists (p', q'); split; [|apply IH; eauto].
      cbn; apply in_flat_map; exists (L, p'); split; [exact I|]; apply in_flat_map; exists (M, q'); split; [exact J|]; cbn.
      apply same_marks_spec in E2; rewrite E2; left; auto.
Qed.

Lemma conjunction_accepts A B w :
  accepts (conjunction_cea event var var_dec A B) w <-> accepts A w /\ exists u, accepts B u /\ eqw event var w u.
Proof.
  split.
  - intros [[p q] [I R]]; cbn in I; apply in_prod_iff in I; destruct I as [I J].
    apply conjunction_runs in R; destruct R as [R [u [T V]]]; split; [exists p; auto|exists u; split; [exists q; auto|exact V]].
  - intros [[p [I R]] [u [[q [J T]] V]]]; exists (p, q); split; [apply in_prod; auto|apply conjunction_runs; eauto].
Qed.

(* --- UNLESS ------------------------------------------------------------------------------------------------------- *)

Notation guard_step := (guard_step event var).
Notation events := (events event var).

(** B reads some of these events, from the state on, to a final state, and at least one. *)
Definition ends_in (B : cea) (q : Q B) (es : list event) : Prop :=
  exists w fs, es = events w ++ fs /\ w <> [] /\ runs B q w.

Lemma ends_in_cons B q e es :
  ends_in B q (e :: es) <-> exists q', In q' (map snd (step B q e)) /\ (final B q' = true \/ ends_in B q' es).
Proof.
  split.
  - intros [[|[e' L] w] [fs [E [N R]]]]; [congruence|]; cbn in E; inversion E; subst; destruct R as [q' [I R]].
    exists q'; split; [apply in_map_iff; exists (L, q'); auto|]; destruct w as [|a w]; [left; exact R|right].
    exists (a :: w), fs; repeat split; auto; discriminate.
  - intros [q' [I K]]; apply in_map_iff in I; destruct I as [[L p] [E I]]; cbn in E; subst; destruct K as [F|[w [fs [-> [N R]]]]].
    + exists [(e, L)], es; repeat split; [discriminate|]; cbn; eauto.
    + exists ((e, L) :: w), fs; repeat split; [discriminate|]; cbn; eauto.
Qed.

Lemma guard_spec B es : forall found T,
  fst (fold_left (guard_step B) es (found, T)) = true <->
  found = true \/ (exists q, In q T /\ ends_in B q es) \/
  (exists pre fs q, es = pre ++ fs /\ In q (initial B) /\ ends_in B q fs).
Proof.
  induction es as [|e es IH]; intros found T.
  - cbn; split; [auto|]; intros [H|[[q [_ [w [fs [E [N _]]]]]]|[pre [fs [q [E [_ [w [gs [E' [N _]]]]]]]]]]]; [exact H|exfalso..].
    + destruct w; [congruence|discriminate].
    + destruct pre, fs; try discriminate; destruct w; [congruence|discriminate].
  - cbn [fold_left].
    change (guard_step B (found, T) e) with
      (found || existsb (final B) (flat_map (fun q => map snd (step B q e)) (T ++ initial B)),
       flat_map (fun q => map snd (step B q e)) (T ++ initial B)).
    rewrite IH, orb_true_iff, existsb_exists; clear IH.
    assert (next : forall p, In p (flat_map (fun q => map snd (step B q e)) (T ++ initial B)) <->
                   exists q, (In q T \/ In q (initial B)) /\ In p (map snd (step B q e))).
    { intros p; rewrite in_flat_map; split; intros [q [I J]]; exists q; split; auto; [apply in_app_or in I|apply in_or_app]; auto. }
    split.
    + intros [[H|[p [I F]]]|[[p [I K]]|[pre [fs [q [-> [I K]]]]]]]; [auto|..].
      * apply next in I; destruct I as [q [[I|I] J]]; right; [left; exists q|right; exists [], (e :: es), q];
          repeat split; auto; apply ends_in_cons; exists p; auto.
      * apply next in I; destruct I as [q [[I|I] J]]; right; [left; exists q|right; exists [], (e :: es), q];
          repeat split; auto; apply ends_in_cons; exists p; auto.
      * right; right; exists (e :: pre), fs, q; auto.
    + intros [H|[[q [I K]]|[pre [fs [q [E [I K]]]]]]]; [auto|..].
      * apply ends_in_cons in K; destruct K as [p [J [F|K]]]; [left; right; exists p|right; left; exists p];
          (split; [apply next; eauto|assumption]).
      * destruct pre as [|e' pre]; cbn in E; [subst fs|inversion E; subst; right; right; exists pre, fs, q; auto].
        apply ends_in_cons in K; destruct K as [p [J [F|K]]]; [left; right; exists p|right; left; exists p];
          (split; [apply next; eauto|assumption]).
Qed.

Lemma unless_runs A B w : forall p g,
  runs (unless_cea event var A B) (p, g) w <-> runs A p w /\ fst (fold_left (guard_step B) (events w) g) = false.
Proof.
  induction w as [|[e L] w IH]; intros p g; cbn [Compile.runs].
  - cbn; rewrite andb_true_iff, negb_true_iff; tauto.
  - split.
    + intros [q [I R]]; cbn in I; apply in_retarget in I; destruct I as [p' [I ->]]; apply IH in R; destruct R; split; eauto.
    + intros [[p' [I R]] G]; exists (p', guard_step B g e); split; [cbn; apply in_retarget; eauto|apply IH; auto].
Qed.

Lemma unless_accepts A B w : proper B ->
  accepts (unless_cea event var A B) w <-> accepts A w /\ ~ inside event var (accepts B) (events w).
Proof.
  intros P; assert (G : fst (fold_left (guard_step B) (events w) (false, [])) = true <-> inside event var (accepts B) (events w)).
  { rewrite guard_spec; split.
    - intros [H|[[q [[] _]]|[pre [fs [q [E [I [v [gs [-> [N R]]]]]]]]]]]; [discriminate|].
      exists pre, v, gs; split; [exists q; auto|exact E].
    - intros [pre [v [gs [K E]]]]; right; right; pose proof (runs_nonempty B v P K) as N; destruct K as [q [I R]].
      exists pre, (events v ++ gs), q; repeat split; auto; exists v, gs; auto. }
  split.
  - intros [[p g] [I R]]; cbn in I; apply in_map_iff in I; destruct I as [p' [E I]]; inversion E; subst.
    apply unless_runs in R; destruct R as [R F]; split; [exists p; auto|]; rewrite <- G, F; discriminate.
  - intros [[p [I R]] F]; exists (p, (false, [])); split; [cbn; apply in_map_iff; eauto|].
    apply unless_runs; split; [exact R|]; apply not_true_is_false; rewrite G; exact F.
Qed.

(* --- ALL ---------------------------------------------------------------------------------------------------------- *)

Notation blank := (blank event var).
Notation zip := (zip event var).
Notation rest_step := (rest_step event var).
Notation resting := resting.

(** From one state of an operand that waits and rests to another, over a word. *)
Fixpoint rests (A : cea) (q : resting (Q A)) (w : word) (q' : resting (Q A)) : Prop :=
  match w with
  | [] => q = q'
  | (e, L) :: w => exists p, In (L, p) (rest_step A q e) /\ rests A p w q'
  end.

Lemma interleaving_runs A B w : forall p q,
  runs (interleaving_cea event var A B) (p, q) w <->
  exists u v p' q', events u = events v /\ w = zip u v /\ rests A p u p' /\ rests B q v q' /\
    final (interleaving_cea event var A B) (p', q') = true.
Proof.
  induction w as [|[e L] w IH]; intros p q.
  - split.
    + intros F; exists [], [], p, q; repeat split; auto.
    + intros [[|[e1 L1] u] [[|[e2 L2] v] [p' [q' [E [Z [R [T F]]]]]]]]; try discriminate; cbn in R, T; subst; exact F.
  - cbn [Compile.runs]; split.
    + intros [[p1 q1] [I R]]; cbn in I; apply in_flat_map in I; destruct I as [[L1 p2] [I J]].
      apply in_map_iff in J; destruct J as [[L2 q2] [J K]]; cbn in J; inversion J; subst.
      apply IH in R; destruct R as [u [v [p' [q' [E [-> [R [T F]]]]]]]].
      exists ((e, L1) :: u), ((e, L2) :: v), p', q'; repeat split; auto; [cbn; f_equal; exact E|cbn; eauto|cbn; eauto].
    + intros [[|[e1 L1] u] [[|[e2 L2] v] [p' [q' [E [Z [R [T F]]]]]]]]; try discriminate; cbn in E, Z; inversion E; inversion Z; subst.
      destruct R as [p1 [I R]], T as [q1 [J T]]; exists (p1, q1); split; [|apply IH; eauto 10].
      cbn; apply in_flat_map; exists (L1, p1); split; [exact I|]; apply in_map_iff; exists (L2, q1); auto.
Qed.

Lemma rests_done A u q' : rests A (Done _) u q' <-> (exists es, u = blank es) /\ q' = Done _.
Proof.
  induction u as [|[e L] u IH]; cbn.
  - split; [intros <-; split; [exists []; auto|auto]|intros [_ ->]; auto].
  - split.
    + intros [p [[E|[]] R]]; inversion E; subst; apply IH in R; destruct R as [[es ->] ->]; split; [exists (e :: es)|]; auto.
    + intros [[[|e' es] E] ->]; inversion E; subst; exists (Done _); split; [left; auto|apply IH; eauto].
Qed.

Lemma rests_at A u : forall p,
  (exists q', rests A (At _ p) u q' /\ ended event var A q' = true) <->
  exists w fs, u = w ++ blank fs /\ runs A p w.
Proof.
  induction u as [|[e L] u IH]; intros p.
  - split.
    + intros [q' [R F]]; cbn in R; subst; exists [], []; auto.
    + intros [w [fs [E R]]]; destruct w; [|discriminate]; exists (At _ p); split; [reflexivity|exact R].
  - split.
    + intros [q' [[q [I R]] F]]; cbn in I; apply in_app_or in I; destruct I as [I|I].
      * apply in_retarget in I; destruct I as [p1 [I ->]].
        destruct (proj1 (IH p1)) as [w [fs [-> K]]]; [eauto|]; exists ((e, L) :: w), fs; split; [auto|cbn; eauto].
      * destruct (final A p) eqn:G; [|inversion I]; destruct I as [I|[]]; inversion I; subst.
        apply rests_done in R; destruct R as [[es ->] ->]; exists [], (e :: es); auto.
    + intros [[|a w] [fs [E R]]]; cbn in E.
      * destruct fs as [|f fs]; inversion E; subst; exists (Done _); split; [|reflexivity].
        exists (Done _); split; [cbn; apply in_or_app; right; cbn in R; rewrite R; left; auto|apply rests_done; eauto].
      * inversion E; subst; destruct R as [p1 [I R]]; destruct (proj2 (IH p1)) as [q' [K F]]; [eauto|].
        exists q'; split; [|exact F]; exists (At _ p1); split; [cbn; apply in_or_app; left; apply in_retarget; eauto|exact K].
Qed.

Lemma rests_at_end A u : forall p,
  (exists q', rests A (At _ p) u q' /\ ending event var A q' = true) <-> runs A p u.
Proof.
  induction u as [|[e L] u IH]; intros p.
  - split; [intros [q' [R F]]; cbn in R; subst; exact F|intros R; exists (At _ p); split; [reflexivity|exact R]].
  - split.
    + intros [q' [[q [I R]] F]]; cbn in I; apply in_app_or in I; destruct I as [I|I].
      * apply in_retarget in I; destruct I as [p1 [I ->]]; cbn; exists p1; split; [exact I|apply IH; eauto].
      * destruct (final A p); [|inversion I]; destruct I as [I|[]]; inversion I; subst.
        apply rests_done in R; destruct R as [_ ->]; discriminate.
    + intros [p1 [I R]]; apply IH in R; destruct R as [q' [R F]]; exists q'; split; [|exact F].
      exists (At _ p1); split; [cbn; apply in_or_app; left; apply in_retarget; eauto|exact R].
Qed.

Lemma rests_wait A u q' : q' <> Wait _ ->
  rests A (Wait _) u q' <->
  exists es v p, es <> [] /\ u = blank es ++ v /\ In p (initial A) /\ rests A (At _ p) v q'.
Proof.
  intros N; induction u as [|[e L] u IH].
  - cbn; split; [intros <-; congruence|]; intros [[|f es] [v [p [M [E _]]]]]; [congruence|discriminate].
  - cbn [rests]; split.
    + intros [q [[E|I] R]].
      * inversion E; subst; apply IH in R; destruct R as [es [v [p [M [-> K]]]]].
        exists (e :: es), v, p; repeat split; try apply K; discriminate.
      * apply in_map_iff in I; destruct I as [p [E I]]; inversion E; subst.
        exists [e], u, p; repeat split; auto; discriminate.
    + intros [[|f es] [v [p [M [E [I R]]]]]]; [congruence|]; inversion E; subst; destruct es as [|g es].
      * exists (At _ p); split; [right; apply in_map_iff; eauto|exact R].
      * exists (Wait _); split; [left; auto|apply IH; exists (g :: es), v, p; repeat split; auto; discriminate].
Qed.

Lemma final_interleaving A B p q : final (interleaving_cea event var A B) (p, q) = true <->
  (ending event var A p = true /\ ended event var B q = true) \/
  (ended event var A p = true /\ ending event var B q = true).
Proof. cbn; rewrite orb_true_iff, !andb_true_iff; tauto. Qed.

Lemma ending_ended A p : ending event var A p = true -> ended event var A p = true.
Proof. destruct p; cbn; auto; discriminate. Qed.

(** The words of an operand from its states of departure: with es before it, and fs after it. *)
Definition around (A : cea) (before after : bool) (u : word) : Prop :=
  exists es w fs, accepts A w /\ u = blank es ++ w ++ blank fs /\ (before = false -> es = []) /\ (after = false -> fs = []).

Definition departs (A : cea) (before : bool) (q : resting (Q A)) : Prop :=
  match q with At _ p => In p (initial A) | Wait _ => before = true | Done _ => False end.

Definition arrives (A : cea) (after : bool) (q : resting (Q A)) : Prop :=
  if after then ended event var A q = true else ending event var A q = true.

Lemma not_waiting A after q : arrives A after q -> q <> Wait _.
Proof. destruct after, q; cbn; congruence. Qed.

Lemma around_spec A before after u :
  around A before after u <-> exists q q', departs A before q /\ arrives A after q' /\ rests A q u q'.
Proof.
  assert (H : forall p v, (exists q', arrives A after q' /\ rests A (At _ p) v q') <->
                          exists w fs, v = w ++ blank fs /\ runs A p w /\ (after = false -> fs = [])).
  { intros p v; destruct after; cbn.
    - transitivity (exists q', rests A (At _ p) v q' /\ ended event var A q' = true); [firstorder|].
      rewrite rests_at; split; intros [w [fs K]]; exists w, fs; intuition discriminate.
    - transitivity (exists q', rests A (At _ p) v q' /\ ending event var A q' = true); [firstorder|].
      rewrite rests_at_end; split.
      + intros R; exists v, []; rewrite app_nil_r; auto.
      + intros [w [fs [-> [R E]]]]; rewrite E by reflexivity; cbn; rewrite app_nil_r; exact R. }
  split.
  - intros [es [w [fs [[p [I R]] [-> [B F]]]]]].
    destruct (proj2 (H p (w ++ blank fs))) as [q' [K T]]; [eauto|].
    destruct es as [|e es].
    + exists (At _ p), q'; auto.
    + exists (Wait _), q'; split; [destruct before; [reflexivity|specialize (B eq_refl); discriminate]|].
      split; [exact K|]; apply rests_wait; [eapply not_waiting, K|].
      exists (e :: es), (w ++ blank fs), p; repeat split; auto; discriminate.
  - intros [q [q' [D [K T]]]]; destruct q as [|p|]; [| |destruct D].
    + apply rests_wait in T; [|eapply not_waiting, K]; destruct T as [es [v [p [N [-> [I T]]]]]].
      destruct (proj1 (H p v)) as [w [fs [-> [R F]]]]; [eauto|].
      exists es, w, fs; repeat split; auto; [exists p; auto|]; intros E; cbn in D; congruence.
    + destruct (proj1 (H p u)) as [w [fs [-> [R F]]]]; [eauto|]; exists [], w, fs; repeat split; auto; exists p; auto.
Qed.

Lemma interleaving_accepts A B w :
  accepts (interleaving_cea event var A B) w <-> allw event var (accepts A) (accepts B) w.
Proof.
  split.
  - intros [[p q] [I R]]; apply interleaving_runs in R; destruct R as [u [v [p' [q' [E [-> [R [T F]]]]]]]].
    assert (D : exists b1 b2, b1 && b2 = false /\ departs A b1 p /\ departs B b2 q).
    { cbn in I; apply in_app_or in I; destruct I as [I|I]; [|apply in_app_or in I; destruct I as [I|I]].
      - apply in_prod_iff in I; destruct I as [I J]; apply in_map_iff in I, J; destruct I as [x [<- I]], J as [y [<- J]].
        exists false, false; auto.
      - apply in_map_iff in I; destruct I as [x [X I]]; inversion X; subst; exists true, false; cbn; auto.
      - apply in_map_iff in I; destruct I as [x [X I]]; inversion X; subst; exists false, true; cbn; auto. }
    assert (K : exists a1 a2, a1 && a2 = false /\ arrives A a1 p' /\ arrives B a2 q').
    { apply final_interleaving in F; destruct F as [[F G]|[F G]]; [exists false, true|exists true, false]; auto. }
    destruct D as [b1 [b2 [Eb [D1 D2]]]], K as [a1 [a2 [Ea [K1 K2]]]].
    exists u, v, b1, a1, b2, a2; repeat split; auto; apply around_spec; eauto.
  - intros [u [v [b1 [a1 [b2 [a2 [U [V [Eb [Ea [E ->]]]]]]]]]]].
    apply around_spec in U, V; destruct U as [p [p' [D1 [K1 R]]]], V as [q [q' [D2 [K2 T]]]].
    exists (p, q); split.
    + cbn; apply in_or_app; destruct p as [|x|], q as [|y|]; cbn in D1, D2; try contradiction.
      * subst; discriminate.
      * right; apply in_or_app; left; apply in_map_iff; eauto.
      * right; apply in_or_app; right; apply in_map_iff; eauto.
      * left; apply in_prod; apply in_map; assumption.
    + apply interleaving_runs; exists u, v, p', q'; repeat split; auto.
      apply final_interleaving; destruct a1, a2; cbn in *; try discriminate; auto using ending_ended.
Qed.

Lemma interleaving_proper A B : proper A -> proper B -> proper (interleaving_cea event var A B).
Proof.
  intros PA PB [p q] I; cbn in I; apply in_app_or in I; destruct I as [I|I]; [|apply in_app_or in I; destruct I as [I|I]].
  - apply in_prod_iff in I; destruct I as [I J]; apply in_map_iff in I, J; destruct I as [x [<- I]], J as [y [<- J]].
    cbn; rewrite (PA x I), (PB y J); reflexivity.
  - apply in_map_iff in I; destruct I as [x [X I]]; inversion X; subst; cbn; rewrite (PB x I); reflexivity.
  - apply in_map_iff in I; destruct I as [x [X I]]; inversion X; subst; cbn; rewrite (PA x I); reflexivity.
Qed.

(* --- the strategies ----------------------------------------------------------------------------------------------- *)

Notation shape := (shape event var).

Fixpoint strict_from (phase : option bool) (s : list bool) : bool :=
  match s with
  | [] => true
  | m :: s => match phase, m with
    | None, false => strict_from None s
    | None, true | Some true, true => strict_from (Some true) s
    | Some _, false => strict_from (Some false) s
    | Some false, true => false
    end
  end.

Lemma strict_runs A w : forall q phase,
  runs (strict_cea event var A) (q, phase) w <-> runs A q w /\ strict_from phase (shape w) = true.
Proof.
  induction w as [|[e L] w IH]; intros q phase.
  - cbn; tauto.
  - cbn [Compile.runs]; split.
    + intros [[q' ph'] [I R]]; cbn in I; apply in_flat_map in I; destruct I as [[M p] [I J]]; cbn in J.
      apply in_map_iff in J; destruct J as [ph [E J]]; cbn in E; inversion E; subst; apply IH in R; destruct R as [R F].
      split; [eauto|]; cbn; unfold is_marked in J; cbn in J; unfold Words.is_marked; cbn.
      destruct L, phase as [[|]|]; cbn in J; (destruct J as [J|[]] || destruct J); subst; exact F.
    + intros [[q' [I R]] F]; cbn in F; unfold Words.is_marked in F; cbn in F.
      assert (H : exists ph, In ph (strict_step phase (Compile.is_marked var (L, q'))) /\ strict_from ph (shape w) = true).
      { unfold Compile.is_marked; cbn; destruct L, phase as [[|]|]; cbn; try discriminate; eauto. }
      destruct H as [ph [J G]]; exists (q', ph); split; [|apply IH; auto].
      cbn; apply in_flat_map; exists (L, q'); split; [exact I|]; apply in_map_iff; exists ph; auto.
Qed.

Lemma strict_spec w :
  (strict_from None (shape w) = true <-> contiguous_marks event var w) /\
  (strict_from (Some true) (shape w) = true <->
     exists y z, w = y ++ z /\ Forall marked y /\ Forall (unmarked event var) z) /\
  (strict_from (Some false) (shape w) = true <-> Forall (unmarked event var) w).
Proof.
  induction w as [|[e L] w [IH0 [IH1 IH2]]].
  - cbn; repeat split; auto.
    + intros _; exists [], [], []; cbn; auto.
    + intros _; exists [], []; auto.
  - assert (NM : L = [] -> unmarked event var (e, L)) by auto.
    assert (MM : L <> [] -> marked (e, L)) by auto.
    split; [|split]; cbn; unfold Words.is_marked at 1; cbn; destruct L as [|X L].
    + rewrite IH0; split.
      * intros [x [y [z [-> [U [V W]]]]]]; exists ((e, []) :: x), y, z; repeat split; auto.
      * intros [[|a x] [y [z [E [U [V W]]]]]].
        -- destruct y as [|b y]; cbn in E.
           ++ subst z; inversion W; subst; exists w, [], []; rewrite !app_nil_r; auto.
           ++ inversion E; subst; inversion V as [|b' y' K]; subst; exfalso; apply K; reflexivity.
        -- inversion E; subst; inversion U; subst; exists x, y, z; auto.
    + rewrite IH1; split.
      * intros [y [z [-> [V W]]]]; exists [], ((e, X :: L) :: y), z; repeat split; auto; constructor; auto; discriminate.
      * intros [[|a x] [y [z [E [U [V W]]]]]].
        -- destruct y as [|b y]; cbn in E; [subst z; inversion W as [|a l K]; subst; discriminate K|].
           inversion E; subst; inversion V; subst; exists y, z; auto.
        -- inversion E; subst; inversion U as [|a l K]; subst; discriminate K.
    + rewrite IH2; split.
      * intros U; exists [], ((e, []) :: w); repeat split; auto.
      * intros [[|a y] [z [E [V W]]]]; cbn in E; [subst z; inversion W; auto|].
        inversion E; subst; inversion V as [|a l K]; subst; exfalso; apply K; reflexivity.
    + rewrite IH1; split.
      * intros [y [z [-> [V W]]]]; exists ((e, X :: L) :: y), z; repeat split; auto; constructor; auto; discriminate.
      * intros [[|a y] [z [E [V W]]]]; cbn in E; [subst z; inversion W as [|a l K]; subst; discriminate K|].
        inversion E; subst; inversion V; subst; exists y, z; auto.
    + rewrite IH2; split; [auto|intros U; inversion U; auto].
    + split; [discriminate|intros U; inversion U as [|a l K]; subst; discriminate K].
Qed.

Lemma strict_accepts A w : accepts (strict_cea event var A) w <-> accepts A w /\ contiguous_marks event var w.
Proof.
  rewrite <- (proj1 (strict_spec w)); split.
  - intros [[q ph] [I R]]; cbn in I; apply in_map_iff in I; destruct I as [p [E I]]; inversion E; subst.
    apply strict_runs in R; destruct R; split; [exists q; auto|auto].
  - intros [[q [I R]] F]; exists (q, None); split; [cbn; apply in_map_iff; eauto|apply strict_runs; auto].
Qed.

(** Whether the other, of shape r, ends as the better one of two whose knowledge is t. *)
Fixpoint surpasses (c : comparison) (t : T c) (s r : list bool) : bool :=
  match s, r with
  | x :: s, y :: r => match compare c t x y with Some t => surpasses c t s r | None => false end
  | _, _ => better c t
  end.

Lemma best_runs c A w : forall q R,
  runs (best_cea event var c A) (q, R) w <->
  runs A q w /\ forall t r u, In (t, r) R -> runs A r u -> events u = events w -> surpasses c t (shape w) (shape u) = false.
Proof.
  induction w as [|[e L] w IH]; intros q R.
  - cbn; rewrite andb_true_iff, negb_true_iff; split.
    + intros [F G]; split; [exact F|]; intros t r u I K E; destruct u; [|discriminate]; cbn in K |- *.
      destruct (better c t) eqn:B; [|reflexivity]; rewrite <- G; symmetry; apply existsb_exists; exists (t, r); cbn.
      rewrite B, K; auto.
    + intros [F G]; split; [exact F|]; apply not_true_is_false; intros H; apply existsb_exists in H.
      destruct H as [[t r] [I H]]; cbn in H; apply andb_true_iff in H; destruct H as [B K].
      specialize (G t r [] I K eq_refl); cbn in G; congruence.
  - assert (H : forall k p, In (k, p) (rivals event var c A R (Compile.is_marked var (L, q)) e) <->
      exists t r M, In (t, r) R /\ In (M, p) (step A r e) /\
        compare c t (Compile.is_marked var (L, q)) (Compile.is_marked var (M, p)) = Some k).
    { intros k p; unfold rivals; rewrite in_flat_map; split.
      - intros [[t r] [I J]]; cbn in J; apply in_flat_map in J; destruct J as [[M p'] [J K]]; cbn [fst snd] in *.
        destruct (compare c t _ _) eqn:E; [|inversion K]; destruct K as [K|[]]; inversion K; subst; exists t, r, M; auto.
      - intros [t [r [M [I [J E]]]]]; exists (t, r); split; [exact I|]; apply in_flat_map; exists (M, p); split; [exact J|].
        cbn [fst snd]; rewrite E; left; auto. }
    cbn [Compile.runs]; split.
    + intros [[q' R'] [I K]]; cbn in I; apply in_map_iff in I; destruct I as [[M p] [E I]]; cbn in E; inversion E; subst.
      apply IH in K; destruct K as [K G]; split; [eauto|].
      intros t r [|[e' N] u] J K' EV; [discriminate|]; cbn in EV; inversion EV; subst; destruct K' as [p' [S' K']].
      cbn [Words.shape map surpasses]; change (Words.is_marked event var (e, L)) with (Compile.is_marked var (L, q)).
      change (Words.is_marked event var (e, N)) with (Compile.is_marked var (N, p')).
      destruct (compare c t _ _) as [k|] eqn:C; [|reflexivity]; apply (G k p' u); auto; apply H; exists t, r, N; auto.
    + intros [[q' [I K]] G]; exists (q', rivals event var c A R (Compile.is_marked var (L, q')) e); split.
      * cbn; apply in_map_iff; exists (L, q'); auto.
      * apply IH; split; [exact K|]; intros k p u J K' EV; apply H in J; destruct J as [t [r [N [J [S' C]]]]].
        specialize (G t r ((e, N) :: u) J); cbn [Words.shape map surpasses] in G.
        change (Words.is_marked event var (e, L)) with (Compile.is_marked var (L, q)) in G.
        change (Words.is_marked event var (e, N)) with (Compile.is_marked var (N, p)) in G.
        rewrite C in G; apply G; [exists p; auto|cbn; f_equal; exact EV].
Qed.

Lemma best_accepts c A w :
  accepts (best_cea event var c A) w <-> best event var (surpasses c (start c)) (accepts A) w.
Proof.
  unfold best; split.
  - intros [[q R] [I K]]; cbn in I; apply in_map_iff in I; destruct I as [p [E I]]; inversion E; subst.
    apply best_runs in K; destruct K as [K G]; split; [exists q; auto|]; intros u [r [J U]] EV.
    apply (G (start c) r u); auto; apply in_map_iff; eauto.
  - intros [[q [I K]] G]; exists (q, map (fun r => (start c, r)) (initial A)); split; [cbn; apply in_map_iff; eauto|].
    apply best_runs; split; [exact K|]; intros t r u J U EV; apply in_map_iff in J; destruct J as [r' [E J]]; inversion E; subst.
    apply G; [exists r; auto|exact EV].
Qed.

Lemma best_proper c A : proper A -> proper (best_cea event var c A).
Proof.
  intros P [q R] I; cbn in I; apply in_map_iff in I; destruct I as [p [E I]]; inversion E; subst; cbn; rewrite (P q I); auto.
Qed.

Lemma next_surpasses s : forall r, surpasses next_comparison false s r = next_better s r.
Proof.
  assert (H : forall s r, surpasses next_comparison true s r = true)
    by (intros s0; induction s0 as [|x s0 IH]; intros [|y r]; try reflexivity; apply IH).
  induction s as [|x s IH]; intros [|y r]; try reflexivity; cbn; destruct (eqb x y); [apply IH|].
  destruct y; [apply H|reflexivity].
Qed.

Lemma last_surpasses s : forall t r, surpasses last_comparison t s r = last_better t s r.
Proof. induction s as [|x s IH]; intros t [|y r]; try reflexivity; apply IH. Qed.

Lemma max_surpasses s : forall t r, surpasses max_comparison t s r = max_better t s r.
Proof. induction s as [|x s IH]; intros t [|y r]; try reflexivity; cbn; destruct (x && negb y); [reflexivity|apply IH]. Qed.

Lemma best_same b1 b2 D E : (forall s r, b1 s r = b2 s r) -> (forall w : word, D w <-> E w) ->
  forall w, best event var b1 D w <-> best event var b2 E w.
Proof.
  intros B H w; unfold best; split; intros [K G]; (split; [apply H, K|]); intros u U EV;
    [rewrite <- B|rewrite B]; apply G; auto; apply H, U.
Qed.

(* --- the theorem -------------------------------------------------------------------------------------------------- *)

Notation compile := (compile event var var_dec type_of).

Lemma compile_proper phi : proper (compile phi).
Proof.
  induction phi; cbn [Compile.compile].
  - intros q [<-|[]]; reflexivity.
  - exact IHphi.
  - apply filtered_proper, IHphi.
  - intros q I; cbn in I; apply in_map_iff in I; destruct I as [p [<- _]]; reflexivity.
  - exact IHphi.
  - intros q I; cbn in I; apply in_map_iff in I; destruct I as [p [<- _]]; reflexivity.
  - intros q I; cbn in I; apply in_map_iff in I; destruct I as [p [<- I]]; apply IHphi, I.
  - exact IHphi.
  - intros q [<-|[]]; reflexivity.
  - apply union_proper; assumption.
  - intros [p q] I; cbn in I; apply in_prod_iff in I; cbn; rewrite (IHphi1 p) by tauto; reflexivity.
  - apply interleaving_proper; assumption.
  - intros [p g] I; cbn in I; apply in_map_iff in I; destruct I as [x [E I]]; inversion E; subst; cbn.
    rewrite (IHphi1 p I); reflexivity.
  - intros [p ph] I; cbn in I; apply in_map_iff in I; destruct I as [x [E I]]; inversion E; subst; apply IHphi, I.
  - apply best_proper, IHphi.
  - apply best_proper, IHphi.
  - apply best_proper, IHphi.
Qed.

Definition same_words (D E : word -> Prop) : Prop := forall w, D w <-> E w.

Lemma rounds_same join D E :
  (forall D1 E1 D2 E2, same_words D1 E1 -> same_words D2 E2 -> same_words (join D1 D2) (join E1 E2)) ->
  same_words D E -> forall n, same_words (roundsw join D n) (roundsw join E n).
Proof. intros J H; induction n; cbn; auto. Qed.

Lemma seqw_same D1 E1 D2 E2 : same_words D1 E1 -> same_words D2 E2 -> same_words (seqw D1 D2) (seqw E1 E2).
Proof.
  intros H1 H2 w; split; intros [u [v [U [V E]]]]; exists u, v; repeat split; auto; first [apply H1|apply H2]; assumption.
Qed.

Lemma cseqw_same D1 E1 D2 E2 : same_words D1 E1 -> same_words D2 E2 -> same_words (cseqw D1 D2) (cseqw E1 E2).
Proof.
  intros H1 H2 w; split; intros [u [a [b [v [U [V E]]]]]]; exists u, a, b, v; (split; [apply H1, U|split; [apply H2, V|exact E]]).
Qed.

Theorem theorem_6_2 phi : same_words (accepts (compile phi)) (lang phi).
Proof.
  induction phi; intros w; cbn [Compile.compile Words.lang].
  - apply event_words.
  - split.
    + intros [q [I R]]; apply remarked_runs in R; destruct R as [u [R ->]]; exists u; split; [apply IHphi; exists q; auto|auto].
    + intros [u [U ->]]; apply IHphi in U; destruct U as [q [I R]]; exists q; split; [exact I|apply remarked_runs; eauto].
  - rewrite filtered_accepts, (IHphi w); tauto.
  - rewrite sequence_accepts by apply compile_proper; apply seqw_same; assumption.
  - rewrite iterate_accepts by apply compile_proper.
    split; intros [n R]; exists n; revert R; apply rounds_same; auto using seqw_same; intros u; split; apply IHphi.
  - rewrite contiguous_accepts; apply cseqw_same; assumption.
  - rewrite contiguous_iterate_accepts.
    split; intros [n R]; exists n; revert R; apply rounds_same; auto using cseqw_same; intros u; split; apply IHphi.
  - split.
    + intros [q [I R]]; apply remarked_runs in R; destruct R as [u [R ->]]; exists u; split; [apply IHphi; exists q; auto|auto].
    + intros [u [U ->]]; apply IHphi in U; destruct U as [q [I R]]; exists q; split; [exact I|apply remarked_runs; eauto].
  - rewrite start_accepts, (IHphi w); reflexivity.
  - rewrite union_accepts, (IHphi1 w), (IHphi2 w); reflexivity.
  - rewrite conjunction_accepts, (IHphi1 w).
    split; intros [H [u [K E]]]; (split; [exact H|]); exists u; (split; [apply IHphi2, K|exact E]).
  - rewrite interleaving_accepts.
    split; intros [u [v [b1 [a1 [b2 [a2 [[es [x [fs [X K]]]] [[gs [y [hs [Y M]]]] R]]]]]]]];
      exists u, v, b1, a1, b2, a2; (split; [exists es, x, fs; split; [apply IHphi1, X|exact K]|]);
      (split; [exists gs, y, hs; split; [apply IHphi2, Y|exact M]|exact R]).
  - rewrite unless_accepts by apply compile_proper; rewrite (IHphi1 w).
    split; intros [H N]; (split; [exact H|]); intros [u [x [v [X E]]]]; apply N; exists u, x, v; (split; [apply IHphi2, X|exact E]).
  - rewrite strict_accepts, (IHphi w); reflexivity.
  - rewrite best_accepts; apply best_same; auto using next_surpasses.
  - rewrite best_accepts; apply best_same; auto; intros; apply last_surpasses.
  - rewrite best_accepts; apply best_same; auto; intros; apply max_surpasses.
Qed.

End Theorem62.

