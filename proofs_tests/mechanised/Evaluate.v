(** Evaluation in one pass: tods21, Algorithms 1 and 2. What is enumerated is exactly what the automaton accepts, without
    repetitions if the automaton is I/O-deterministic. *)

From Coq Require Import List Arith Lia Bool Permutation.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62.

Section Evaluate.

Variable event : Type.
Variable var : Type.

Notation marks := (marks var).
Notation word := (word event var).
Notation cea := (cea event var).
Notation runs := (runs event var).
Notation accepts := (accepts event var).
Notation Q := (Q event var).
Notation initial := (initial event var).
Notation final := (final event var).
Notation step := (step event var).
Notation events := (events event var).

Variable A : cea.
Variable Q_dec : forall p q : Q A, {p = q} + {p <> q}.

(** A complex event with its marks: the marked positions, the latest first. *)
Definition trace := list (nat * marks).

Definition mark (p : nat) (L : marks) (t : trace) : trace := match L with [] => t | _ => (p, L) :: t end.

(** A node of the data structure: a position and its marks, and the nodes that may come before it; bottom begins. *)
Inductive node := Bottom | Node (p : nat) (L : marks) (before : list node).

(** Algorithm 1: the paths from a node to bottom. *)
Fixpoint enumerate (n : node) : list trace :=
  match n with
  | Bottom => [[]]
  | Node p L before => map (cons (p, L)) (flat_map enumerate before)
  end.

Definition enumerate_list (ns : list node) : list trace := flat_map enumerate ns.

(** For each active state the list of its nodes; procedure ADD joins two lists. *)
Definition active := list (Q A * list node).

Fixpoint add (T : active) (new : Q A * list node) : active :=
  match T with
  | [] => [new]
  | (q, ns) :: T => if Q_dec q (fst new) then (q, ns ++ snd new) :: T else (q, ns) :: add T new
  end.

Definition extended (p : nat) (L : marks) (ns : list node) : list node :=
  match L with [] => ns | _ => [Node p L ns] end.

(** The update phase of Algorithm 2: one event, at position p. *)
Definition update (p : nat) (e : event) (T : active) : active :=
  fold_left add (flat_map (fun a => map (fun t => (snd t, extended p (fst t) (snd a))) (step A (fst a) e)) T) [].

Fixpoint updates (p : nat) (es : list event) (T : active) : active :=
  match es with
  | [] => T
  | e :: es => updates (p + 1) es (update p e T)
  end.

Definition at_start : active := map (fun q => (q, [Bottom])) (initial A).

(** Procedure OUTPUT. *)
Definition output (T : active) : list trace :=
  flat_map (fun a => if final A (fst a) then enumerate_list (snd a) else []) T.

(* --- all runs, one by one ----------------------------------------------------------------------------------------- *)

Fixpoint all_runs (p : nat) (es : list event) (R : list (Q A * trace)) : list (Q A * trace) :=
  match es with
  | [] => R
  | e :: es =>
      all_runs (p + 1) es (flat_map (fun r => map (fun t => (snd t, mark p (fst t) (snd r))) (step A (fst r) e)) R)
  end.

Definition listed (T : active) : list (Q A * trace) :=
  flat_map (fun a => map (fun t => (fst a, t)) (enumerate_list (snd a))) T.

Lemma enumerate_app ns ms : enumerate_list (ns ++ ms) = enumerate_list ns ++ enumerate_list ms.
Proof. apply flat_map_app. Qed.

Lemma enumerate_extended p L ns : enumerate_list (extended p L ns) = map (mark p L) (enumerate_list ns).
Proof.
  destruct L; cbn; [symmetry; apply map_id|]; unfold enumerate_list; cbn; rewrite app_nil_r; reflexivity.
Qed.

Lemma listed_add T new : Permutation (listed (add T new)) (listed T ++ listed [new]).
Proof.
  destruct new as [q ms]; induction T as [|[p ns] T IH]; cbn; [auto|].
  rewrite app_nil_r; destruct (Q_dec p q) as [->|N]; cbn.
  - rewrite enumerate_app, map_app, <- !app_assoc; apply Permutation_app_head, Permutation_app_comm.
  - rewrite <- app_assoc; apply Permutation_app_head; rewrite IH; cbn; rewrite app_nil_r; reflexivity.
Qed.

Lemma listed_fold news : forall T, Permutation (listed (fold_left add news T)) (listed T ++ listed news).
Proof.
  induction news as [|new news IH]; intros T; cbn [fold_left]; [cbn; rewrite app_nil_r; reflexivity|].
  rewrite IH, listed_add, <- app_assoc; apply Permutation_app_head.
  change (new :: news) with ([new] ++ news); unfold listed; rewrite flat_map_app; reflexivity.
Qed.

Lemma flat_map_swap {X Y Z : Type} (f : X -> Y -> Z) (ys : list Y) : forall xs,
  Permutation (flat_map (fun x => map (f x) ys) xs) (flat_map (fun y => map (fun x => f x y) xs) ys).
Proof.
  induction ys as [|y ys IH]; intros xs; cbn.
  - induction xs; cbn; auto.
  - rewrite <- IH; clear IH; induction xs as [|x xs IH]; cbn; [auto|].
    rewrite IH; apply perm_skip; rewrite !app_assoc; apply Permutation_app_tail, Permutation_app_comm.
Qed.

Lemma flat_map_pointwise {X Y : Type} (f g : X -> list Y) xs :
  (forall x, Permutation (f x) (g x)) -> Permutation (flat_map f xs) (flat_map g xs).
Proof. intros H; induction xs; cbn; [auto|]; apply Permutation_app; auto. Qed.

Lemma flat_map_flat_map {X Y Z : Type} (f : Y -> list Z) (g : X -> list Y) xs :
  flat_map f (flat_map g xs) = flat_map (fun x => flat_map f (g x)) xs.
Proof. induction xs; cbn; [auto|]; rewrite flat_map_app; congruence. Qed.

Lemma flat_map_map {X Y Z : Type} (f : Y -> list Z) (g : X -> Y) xs :
  flat_map f (map g xs) = flat_map (fun x => f (g x)) xs.
Proof. induction xs; cbn; congruence. Qed.

(** One event: each run goes on by each step, whatever is shared. *)
Lemma update_listed p e T :
  Permutation (listed (update p e T))
    (flat_map (fun r => map (fun t => (snd t, mark p (fst t) (snd r))) (step A (fst r) e)) (listed T)).
Proof.
  unfold update; rewrite listed_fold; cbn [listed flat_map app]; unfold listed; rewrite !flat_map_flat_map.
  apply flat_map_pointwise; intros [q ns]; cbn [fst snd].
  rewrite !flat_map_map; cbn [fst snd].
  etransitivity; [|apply (flat_map_swap (fun t s => (snd t, mark p (fst t) s)))].
  apply flat_map_pointwise; intros [L r]; cbn [fst snd]; rewrite enumerate_extended, map_map; reflexivity.
Qed.

Lemma updates_listed es : forall p T R, Permutation (listed T) R -> Permutation (listed (updates p es T)) (all_runs p es R).
Proof.
  induction es as [|e es IH]; intros p T R H; cbn; [exact H|]; apply IH.
  rewrite update_listed; apply Permutation_flat_map, H.
Qed.

Definition accepted (R : list (Q A * trace)) : list trace := flat_map (fun r => if final A (fst r) then [snd r] else []) R.

Lemma flat_map_one {X : Type} (xs : list X) : flat_map (fun x => [x]) xs = xs.
Proof. induction xs as [|x xs IH]; cbn; [|rewrite IH]; reflexivity. Qed.

Lemma flat_map_none {X Y : Type} (xs : list X) : flat_map (fun _ => @nil Y) xs = [].
Proof. induction xs; auto. Qed.

Lemma output_listed T : output T = accepted (listed T).
Proof.
  unfold output, accepted, listed; induction T as [|[q ns] T IH]; cbn; [auto|].
  rewrite flat_map_app, <- IH, flat_map_map; cbn [fst snd]; f_equal; destruct (final A q).
  - symmetry; apply flat_map_one.
  - symmetry; apply flat_map_none.
Qed.

Lemma start_listed : listed at_start = map (fun q => (q, [])) (initial A).
Proof. unfold listed, at_start; rewrite flat_map_map; cbn; induction (initial A) as [|q qs IH]; [reflexivity|]; cbn; f_equal; exact IH. Qed.

(** What is enumerated after some events is, as a multiset, one trace for each accepting run. *)
Theorem one_for_each_run es :
  Permutation (output (updates 0 es at_start)) (accepted (all_runs 0 es (map (fun q => (q, [])) (initial A)))).
Proof. rewrite output_listed; apply Permutation_flat_map, updates_listed; rewrite start_listed; reflexivity. Qed.

(* --- all that is accepted ----------------------------------------------------------------------------------------- *)

Fixpoint traced (p : nat) (w : word) (t : trace) : trace :=
  match w with
  | [] => t
  | (e, L) :: w => traced (p + 1) w (mark p L t)
  end.

Lemma in_accepted es : forall p R t,
  In t (accepted (all_runs p es R)) <->
  exists q s w, In (q, s) R /\ runs A q w /\ events w = es /\ t = traced p w s.
Proof.
  induction es as [|e es IH]; intros p R t; cbn.
  - unfold accepted; rewrite in_flat_map; split.
    + intros [[q s] [I J]]; cbn in J; destruct (final A q) eqn:F; [|inversion J]; destruct J as [<-|[]].
      exists q, s, []; auto.
    + intros [q [s [[|a w] [I [F [E ->]]]]]]; [|discriminate]; exists (q, s); split; [exact I|]; cbn in *; rewrite F; left; auto.
  - rewrite IH; split.
    + intros [q [s [w [I [R' [E ->]]]]]]; apply in_flat_map in I; destruct I as [[p0 s0] [I J]]; apply in_map_iff in J.
      destruct J as [[L q'] [J K]]; cbn in J, K; inversion J; subst.
      exists p0, s0, ((e, L) :: w); split; [exact I|]; split; [cbn; eauto|]; split; [cbn; f_equal; exact E|reflexivity].
    + intros [q [s [[|[e' L] w] [I [R' [E ->]]]]]]; [discriminate|]; cbn in E; inversion E; subst; destruct R' as [q' [J K]].
      exists q', (mark p L s), w; repeat split; auto; apply in_flat_map; exists (q, s); split; [exact I|].
      apply in_map_iff; exists (L, q'); auto.
Qed.

(** Soundness and completeness of Algorithm 2: after the events es it puts out the traces of the accepted words over es. *)
Theorem algorithm_2 es t :
  In t (output (updates 0 es at_start)) <-> exists w, accepts A w /\ events w = es /\ t = traced 0 w [].
Proof.
  split.
  - intros I; eapply Permutation_in in I; [|apply one_for_each_run]; apply in_accepted in I.
    destruct I as [q [s [w [I [R [E ->]]]]]]; apply in_map_iff in I; destruct I as [q' [I J]]; inversion I; subst.
    exists w; split; [exists q; auto|auto].
  - intros [w [[q [I R]] [E ->]]]; eapply Permutation_in; [symmetry; apply one_for_each_run|]; apply in_accepted.
    exists q, [], w; repeat split; auto; apply in_map_iff; eauto.
Qed.

(* --- without repetitions ------------------------------------------------------------------------------------------ *)

(** One initial state, and on an event one step at most for given marks. *)
Variable one_start : exists q, initial A = [q].
Variable one_step : forall q e, NoDup (map fst (step A q e)).

Definition recent (p : nat) (t : trace) : Prop := match t with [] => True | (q, _) :: _ => q < p end.

Lemma mark_injective p L M s t : recent p s -> recent p t -> mark p L s = mark p M t -> L = M /\ s = t.
Proof.
  intros Hs Ht; destruct L, M; cbn; intros E; auto.
  - subst s; cbn in Hs; lia.
  - subst t; cbn in Ht; lia.
  - inversion E; auto.
Qed.

Lemma steps_once q e L p p' : In (L, p) (step A q e) -> In (L, p') (step A q e) -> p = p'.
Proof.
  specialize (one_step q e); induction (step A q e) as [|[M r] ts IH]; [intros []|].
  inversion one_step as [|x l N D]; subst; cbn in N; intros [I|I] [J|J].
  - congruence.
  - inversion I; subst; exfalso; apply N, in_map_iff; exists (L, p'); auto.
  - inversion J; subst; exfalso; apply N, in_map_iff; exists (L, p); auto.
  - apply IH; auto.
Qed.

(** Runs with different traces, each trace once. *)
Definition distinct (p : nat) (R : list (Q A * trace)) : Prop :=
  NoDup (map snd R) /\ forall r, In r R -> recent p (snd r).

Lemma same_entry (R : list (Q A * trace)) q q' t : NoDup (map snd R) -> In (q, t) R -> In (q', t) R -> q = q'.
Proof.
  induction R as [|[r s] R IH]; [intros _ []|]; intros D; inversion D as [|x l N D']; subst; cbn in N; intros [I|I] [J|J].
  - congruence.
  - inversion I; subst; exfalso; apply N, in_map_iff; exists (q', t); auto.
  - inversion J; subst; exfalso; apply N, in_map_iff; exists (q, t); auto.
  - apply IH; auto.
Qed.

Lemma nodup_app {X : Type} (xs ys : list X) :
  NoDup xs -> NoDup ys -> (forall x, In x xs -> In x ys -> False) -> NoDup (xs ++ ys).
Proof.
  intros D E N; induction D as [|x xs M D IH]; cbn; [exact E|]; constructor.
  - intros I; apply in_app_or in I; destruct I as [I|I]; [contradiction|apply (N x); [left; auto|exact I]].
  - apply IH; intros y I J; apply (N y); [right; exact I|exact J].
Qed.

Lemma distinct_step p e R : distinct p R ->
  distinct (p + 1) (flat_map (fun r => map (fun t => (snd t, mark p (fst t) (snd r))) (step A (fst r) e)) R).
Proof.
  intros [D C]; split.
  - induction R as [|[q s] R IH]; cbn; [constructor|]; inversion D as [|x l N D']; subst; cbn in N.
    rewrite map_app, map_map; cbn; apply nodup_app.
    + assert (Hs : recent p s) by (apply (C (q, s)); left; auto).
      specialize (one_step q e); induction (step A q e) as [|[L r] ts IHt]; cbn; [constructor|].
      inversion one_step as [|x l M O]; subst; cbn in M; constructor; [|auto].
      intros I; apply in_map_iff in I; destruct I as [[L' r'] [E I]]; cbn in E.
      apply mark_injective in E; auto; destruct E as [-> _]; apply M, in_map_iff; exists (L, r'); auto.
    + apply IH; [exact D'|]; intros r I; apply C; right; exact I.
    + intros t I J; apply in_map_iff in I; destruct I as [[L r] [<- I]]; cbn in J; apply in_map_iff in J.
      destruct J as [[r' t'] [E J]]; cbn in E; subst t'; apply in_flat_map in J; destruct J as [[q' s'] [J K]].
      apply in_map_iff in K; destruct K as [[L' r''] [K _]]; cbn in K; inversion K; subst.
      apply mark_injective in H1; [|apply (C (q', s')); right; exact J|apply (C (q, s)); left; auto].
      destruct H1 as [_ ->]; apply N, in_map_iff; exists (q', s); auto.
  - intros [r t] I; apply in_flat_map in I; destruct I as [[q s] [I J]]; apply in_map_iff in J.
    destruct J as [[L r'] [J _]]; cbn in J; inversion J; subst; specialize (C (q, s) I); cbn in C |- *.
    destruct L; cbn; [|lia]; destruct s as [|[p' M] s]; cbn in C |- *; lia.
Qed.

Lemma distinct_runs es : forall p R, distinct p R -> NoDup (accepted (all_runs p es R)).
Proof.
  induction es as [|e es IH]; intros p R D; cbn; [|apply (IH (p + 1)), distinct_step, D].
  destruct D as [D _]; unfold accepted; induction R as [|[q s] R IHR]; cbn; [constructor|].
  inversion D as [|x l N D']; subst; cbn in N; destruct (final A q); cbn; [|auto]; constructor; [|auto].
  intros I; apply N; apply in_flat_map in I; destruct I as [[q' s'] [I J]]; cbn in J.
  destruct (final A q'); [|inversion J]; destruct J as [<-|[]]; apply in_map_iff; exists (q', s'); auto.
Qed.

(** On an I/O-deterministic automaton nothing is put out twice. *)
Theorem no_repetitions es : NoDup (output (updates 0 es at_start)).
Proof.
  eapply Permutation_NoDup; [symmetry; apply one_for_each_run|]; apply distinct_runs.
  destruct one_start as [q ->]; split; [repeat constructor; auto|]; intros r [<-|[]]; exact I.
Qed.

End Evaluate.
