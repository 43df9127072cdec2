(** Event expressions: the meaning of the base operators, of | /+ and prefix (vldb92, sections 2.2 and 2.3), and Theorem 1
    with Corollary 1: an automaton for each, which accepts after an event exactly if the expression takes place there.

    Letters, as in semantics/event_expressions/denote.py:
      E, F  expressions     h  a history     e, d, o  event occurrences: an identifier, and what occurred *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.

Section Expressions.

Variable event : Type.

Definition occurrence := (nat * event)%type.
Definition history := list occurrence.

(** The identifiers ascend. *)
Fixpoint ascending (h : history) : Prop :=
  match h with
  | [] => True
  | o :: h => (forall p, In p h -> fst o < fst p) /\ ascending h
  end.

Inductive expression :=
| Null
| Primitive (P : event -> bool)                (* an event type with its mask *)
| And (E F : expression)
| Not (E : expression)
| Relative (E F : expression)
| RelativePlus (E : expression)
| Pipe (E F : expression)
| Between (F E : expression)                   (* F /+ E *)
| Prefix (E : expression).

(** What h has after e. *)
Definition after (h : history) (e : occurrence) : history := filter (fun p => fst e <? fst p) h.

Definition events := occurrence -> Prop.
Definition meanings := history -> events.

(** relative^1(E), relative^2(E), ... *)
Fixpoint chain (D : meanings) (n : nat) : meanings := fun h o =>
  match n with
  | 0 => D h o
  | S n => exists e, D h e /\ chain D n (after h e) o
  end.

(** The history of some events of h. *)
Definition history_of (D : events) (g : history) : Prop := ascending g /\ forall p, In p g <-> D p.

(** E[h]: the events of h at which E takes place. *)
Fixpoint meaning (E : expression) : meanings := fun h o =>
  match E with
  | Null => False
  | Primitive P => In o h /\ P (snd o) = true
  | And E F => meaning E h o /\ meaning F h o
  | Not E => In o h /\ ~ meaning E h o
  | Relative E F => exists e, meaning E h e /\ meaning F (after h e) o
  | RelativePlus E => exists n, chain (meaning E) n h o
  | Pipe E F => exists g, history_of (meaning E h) g /\ meaning F g o
  | Between F E => exists d g, meaning E h d /\ meaning F g o /\
      history_of (fun p => In p h /\ fst d < fst p /\ forall e, meaning E h e -> fst d < fst e -> fst p < fst e) g
  | Prefix E => exists g k l p, h = g ++ o :: k /\ ascending (g ++ o :: l) /\ In p l /\ meaning E (g ++ o :: l) p
  end.

(* --- automata ------------------------------------------------------------------------------------------------------- *)

Record dfa := {
  Q : Type;
  start : Q;
  step : Q -> event -> Q;
  accepting : Q -> bool
}.

Definition run (A : dfa) (q : Q A) (w : list event) : Q A := fold_left (step A) w q.
Arguments run : simpl never.
Definition accepts (A : dfa) (w : list event) : bool := accepting A (run A (start A) w).

(** From the state an accepting one is reached by one event or more. *)
Definition viable (A : dfa) (q : Q A) : Prop := exists w, w <> [] /\ accepting A (run A q w) = true.

(** The types of events that the search below tries. Of finitely many these are all: see FiniteExpressions.v. *)
Variable letters : list event.

(** A search in the graph of the states: whether an accepting one is reached by one event or more, n at most. *)
Fixpoint within (A : dfa) (n : nat) (q : Q A) : bool :=
  match n with
  | 0 => false
  | S n => existsb (fun e => accepting A (step A q e) || within A n (step A q e)) letters
  end.

Definition null_dfa : dfa := {| Q := unit; start := tt; step := fun q _ => q; accepting := fun _ => false |}.

Definition primitive_dfa (P : event -> bool) : dfa :=
  {| Q := bool; start := false; step := fun _ e => P e; accepting := fun q => q |}.

Definition and_dfa (A B : dfa) : dfa := {|
  Q := Q A * Q B;
  start := (start A, start B);
  step := fun q e => (step A (fst q) e, step B (snd q) e);
  accepting := fun q => accepting A (fst q) && accepting B (snd q)
|}.

(** Nothing leads back to the start state, None, which does not accept. *)
Definition not_dfa (A : dfa) : dfa := {|
  Q := option (Q A);
  start := None;
  step := fun q e => Some (step A (match q with Some p => p | None => start A end) e);
  accepting := fun q => match q with Some p => negb (accepting A p) | None => false end
|}.

(** From accepting states of A also to where B begins. *)
Definition relative_dfa (A B : dfa) : dfa := {|
  Q := Q A * list (Q B);
  start := (start A, []);
  step := fun q e =>
    let p := step A (fst q) e in
    let running := map (fun r => step B r e) (snd q) in
    (p, if accepting A p then start B :: running else running);
  accepting := fun q => existsb (accepting B) (snd q)
|}.

(** From accepting states also to where A begins. *)
Definition relative_plus_dfa (A : dfa) : dfa := {|
  Q := list (Q A);
  start := [start A];
  step := fun q e =>
    let running := map (fun r => step A r e) q in
    if existsb (accepting A) running then start A :: running else running;
  accepting := existsb (accepting A)
|}.

(** B moves on the events of A only. *)
Definition pipe_dfa (A B : dfa) : dfa := {|
  Q := Q A * Q B;
  start := (start A, start B);
  step := fun q e => let p := step A (fst q) e in (p, if accepting A p then step B (snd q) e else snd q);
  accepting := fun q => accepting A (fst q) && accepting B (snd q)
|}.

(** A /+ B: with each event of B, A begins anew; B reads the whole history, which the printed one does not. *)
Definition between_dfa (A B : dfa) : dfa := {|
  Q := option (Q A) * Q B;
  start := (None, start B);
  step := fun q e =>
    let p := step B (snd q) e in
    (if accepting B p then Some (start A)
     else match fst q with Some r => Some (step A r e) | None => None end, p);
  accepting := fun q => match fst q with Some r => accepting A r | None => false end
|}.

(** prefix: whether n events at most, one or more, can lead to an accepting state. The start state must not accept. *)
Definition prefix_dfa (n : nat) (A : dfa) : dfa := {|
  Q := option (Q A);
  start := None;
  step := fun q e => Some (step A (match q with Some p => p | None => start A end) e);
  accepting := fun q => match q with Some p => within A n p | None => false end
|}.

(** How many states the automaton of E needs at most. *)
Fixpoint size (E : expression) : nat :=
  match E with
  | Null => 1
  | Primitive _ => 2
  | And E F | Pipe E F => size E * size F
  | Not E | Prefix E => S (size E)
  | Relative E F => size E * 2 ^ size F
  | RelativePlus E => 2 ^ size E
  | Between F E => S (size F) * size E
  end.

Fixpoint automaton (E : expression) : dfa :=
  match E with
  | Null => null_dfa
  | Primitive P => primitive_dfa P
  | And E F => and_dfa (automaton E) (automaton F)
  | Not E => not_dfa (automaton E)
  | Relative E F => relative_dfa (automaton E) (automaton F)
  | RelativePlus E => relative_plus_dfa (automaton E)
  | Pipe E F => pipe_dfa (automaton E) (automaton F)
  | Between F E => between_dfa (automaton F) (automaton E)
  | Prefix E => prefix_dfa (size E) (automaton E)
  end.

(** Wherever prefix stands, the search has found all there is to find: so if there is no prefix, and if letters has all types of
    events (all_searched in FiniteExpressions.v). *)
Fixpoint searched (E : expression) : Prop :=
  match E with
  | Null | Primitive _ => True
  | Not E | RelativePlus E => searched E
  | And E F | Relative E F | Pipe E F | Between E F => searched E /\ searched F
  | Prefix E => searched E /\ forall q, within (automaton E) (size E) q = true <-> viable (automaton E) q
  end.

Fixpoint prefix_free (E : expression) : bool :=
  match E with
  | Null | Primitive _ => true
  | Not E | RelativePlus E => prefix_free E
  | And E F | Relative E F | Pipe E F | Between E F => prefix_free E && prefix_free F
  | Prefix _ => false
  end.

Lemma prefix_free_searched E : prefix_free E = true -> searched E.
Proof. induction E; cbn; rewrite ?andb_true_iff; intuition congruence. Qed.

(** All machines have a start state that does not accept. *)
Definition proper (A : dfa) : Prop := accepts A [] = false.

Lemma run_app A q u v : run A q (u ++ v) = run A (run A q u) v.
Proof. apply fold_left_app. Qed.

Lemma run_snoc A q w e : run A q (w ++ [e]) = step A (run A q w) e.
Proof. apply run_app. Qed.

Lemma automaton_proper E : proper (automaton E).
Proof.
  unfold proper, accepts, run; induction E; cbn in *; rewrite ?IHE, ?IHE1; reflexivity.
Qed.

(* --- histories ------------------------------------------------------------------------------------------------------ *)

Lemma ascending_app g k : ascending (g ++ k) <-> ascending g /\ ascending k /\ forall a b, In a g -> In b k -> fst a < fst b.
Proof.
  induction g as [|o g IH]; cbn; [firstorder|]; rewrite IH; setoid_rewrite in_app_iff; split.
  - intros [H [G [K L]]]; repeat split; auto; intros a b [<-|I] J; auto.
  - intros [[H G] [K L]]; repeat split; auto; intros p [I|I]; auto.
Qed.

Lemma after_split g e k : ascending (g ++ e :: k) -> after (g ++ e :: k) e = k.
Proof.
  intros H; apply ascending_app in H; destruct H as [_ [[H _] L]]; unfold after; rewrite filter_app; cbn [filter].
  rewrite Nat.ltb_irrefl.
  assert (G : filter (fun p : occurrence => fst e <? fst p) g = []).
  { clear - L; induction g as [|o g IH]; cbn [filter]; [reflexivity|]; assert (K : fst o < fst e) by (apply L; left; auto).
    replace (fst e <? fst o) with false by (symmetry; apply Nat.ltb_ge; lia); apply IH; intros a b I; apply L; right; exact I. }
  assert (K : filter (fun p : occurrence => fst e <? fst p) k = k).
  { clear - H; induction k as [|o k IH]; cbn [filter]; [reflexivity|]; assert (K : fst e < fst o) by (apply H; left; auto).
    apply Nat.ltb_lt in K; rewrite K, IH; [reflexivity|]; intros p I; apply H; right; exact I. }
  exact (f_equal2 (@app occurrence) G K).
Qed.

(** An event of an ascending history occurs once in it. *)
Lemma split_once (g k g' k' : history) o : ascending (g ++ o :: k) -> g ++ o :: k = g' ++ o :: k' -> g = g' /\ k = k'.
Proof.
  revert g'; induction g as [|a g IH]; intros [|b g'] H E; cbn in H, E.
  - inversion E; auto.
  - injection E as E1 E2; subst b; destruct H as [H _]; assert (fst o < fst o); [|lia]; apply H; rewrite E2; apply in_or_app; right; left; auto.
  - injection E as E1 E2; subst a; destruct H as [H _]; assert (fst o < fst o); [|lia]; apply H; apply in_or_app; right; left; auto.
  - injection E as E1 E2; subst b; destruct (IH g' (proj2 H) E2) as [-> ->]; auto.
Qed.

(** Ascending histories with the same events are the same. *)
Lemma same_history : forall g h, ascending g -> ascending h -> (forall p, In p g <-> In p h) -> g = h.
Proof.
  induction g as [|a g IH]; intros [|b h] G H S; auto.
  - destruct (proj2 (S b)); left; auto.
  - destruct (proj1 (S a)); left; auto.
  - cbn in G, H; destruct G as [G1 G2], H as [H1 H2].
    assert (a = b).
    { destruct (proj1 (S a)) as [E|I]; [left; auto|auto|]; destruct (proj2 (S b)) as [E|J]; [left; auto|auto|].
      apply H1 in I; apply G1 in J; lia. }
    subst b; f_equal; apply IH; auto; intros p; split; intros I.
    + destruct (proj1 (S p)) as [<-|J]; [right; exact I| |exact J]; apply G1 in I; lia.
    + destruct (proj2 (S p)) as [<-|J]; [right; exact I| |exact J]; apply H1 in I; lia.
Qed.

Lemma in_after h e p : In p (after h e) <-> In p h /\ fst e < fst p.
Proof. unfold after; rewrite filter_In, Nat.ltb_lt; tauto. Qed.

Lemma ascending_after h e : ascending h -> ascending (after h e).
Proof.
  unfold after; induction h as [|o h IH]; cbn [filter ascending]; [auto|]; intros [H K]; destruct (fst e <? fst o); [|auto].
  split; [|auto]; intros p I; apply H; apply filter_In in I; apply I.
Qed.

(** E[h] is a set of events of h. *)
Lemma meaning_in E : forall h o, meaning E h o -> In o h.
Proof.
  induction E; cbn; intros h o.
  - tauto.
  - tauto.
  - intros [H _]; auto.
  - tauto.
  - intros [e [_ H]]; apply IHE2, in_after in H; apply H.
  - intros [n H]; revert h H; induction n as [|n IH]; cbn; intros h H; [auto|]; destruct H as [e [_ H]]; apply IH, in_after in H; apply H.
  - intros [g [[_ H] K]]; apply IHE2, H, IHE1 in K; exact K.
  - intros [d [g [_ [K [_ H]]]]]; apply IHE1, H in K; apply K.
  - intros [g [k [l [p [-> _]]]]]; apply in_or_app; right; left; auto.
Qed.

(* --- each construction ---------------------------------------------------------------------------------------------- *)

Definition types (h : history) : list event := map snd h.

(** The automaton accepts after o, whatever comes then, exactly if o is in D. *)
Definition describes (A : dfa) (D : meanings) : Prop := forall g o k, ascending (g ++ o :: k) ->
  D (g ++ o :: k) o <-> accepts A (types g ++ [snd o]) = true.

Lemma accepts_last A u e : accepts A (u ++ [e]) = accepting A (step A (run A (start A) u) e).
Proof. unfold accepts; rewrite run_snoc; reflexivity. Qed.

Lemma types_app g k : types (g ++ k) = types g ++ types k. Proof. apply map_app. Qed.

Lemma here (g : history) o k : In o (g ++ o :: k). Proof. apply in_or_app; right; left; auto. Qed.

Lemma and_run A B w : forall p q, run (and_dfa A B) (p, q) w = (run A p w, run B q w).
Proof. induction w as [|e w IH]; intros p q; [reflexivity|apply IH]. Qed.

Lemma not_run A w : forall p, run (not_dfa A) (Some p) w = Some (run A p w).
Proof. induction w as [|e w IH]; intros p; [reflexivity|apply IH]. Qed.

Lemma not_accepts A w : w <> [] -> accepts (not_dfa A) w = negb (accepts A w).
Proof. destruct w as [|e w]; [congruence|]; intros _; unfold accepts.
  change (run (not_dfa A) (start (not_dfa A)) (e :: w)) with (run (not_dfa A) (Some (step A (start A) e)) w).
  rewrite not_run; reflexivity. Qed.

Lemma snoc_nonempty {T} (u : list T) e : u ++ [e] <> []. Proof. destruct u; discriminate. Qed.

(** relative: the runs of B have begun after each word that A accepts. *)
Lemma relative_run A B w : forall r, In r (snd (run (relative_dfa A B) (start (relative_dfa A B)) w)) <->
  exists u v, w = u ++ v /\ u <> [] /\ accepts A u = true /\ r = run B (start B) v.
Proof.
  assert (F : forall w, fst (run (relative_dfa A B) (start (relative_dfa A B)) w) = run A (start A) w).
  { intros x; induction x as [|e x IH] using rev_ind; [reflexivity|]; rewrite !run_snoc; cbn [step relative_dfa fst]; rewrite IH; reflexivity. }
  induction w as [|e w IH] using rev_ind; intros r.
  - cbn; split; [intros []|intros [[|a u] [v [E [N _]]]]; [congruence|discriminate]].
  - rewrite run_snoc; cbn [step relative_dfa fst snd]; rewrite F, <- (accepts_last A w e).
    assert (H : In r (map (fun r0 => step B r0 e) (snd (run (relative_dfa A B) (start (relative_dfa A B)) w))) <->
                exists u v, w = u ++ v /\ u <> [] /\ accepts A u = true /\ r = run B (start B) (v ++ [e])).
    { rewrite in_map_iff; split.
      - intros [s [<- I]]; apply IH in I; destruct I as [u [v [-> [N [K ->]]]]]; exists u, v; rewrite run_snoc; auto.
      - intros [u [v [-> [N [K ->]]]]]; exists (run B (start B) v); split; [rewrite run_snoc; reflexivity|apply IH; eauto 6]. }
    split.
    + destruct (accepts A (w ++ [e])) eqn:X; cbn [In]; intros I.
      * destruct I as [<-|I]; [exists (w ++ [e]), []; rewrite app_nil_r; auto using snoc_nonempty|].
        apply H in I; destruct I as [u [v [-> [N [K ->]]]]]; exists u, (v ++ [e]); rewrite app_assoc; auto.
      * apply H in I; destruct I as [u [v [-> [N [K ->]]]]]; exists u, (v ++ [e]); rewrite app_assoc; auto.
    + intros [u [v [E [N [K ->]]]]]; destruct v as [|a v _] using rev_ind.
      * rewrite app_nil_r in E; subst; rewrite K; left; reflexivity.
      * rewrite app_assoc in E; apply app_inj_tail in E; destruct E as [-> <-].
        assert (I : In (run B (start B) (v ++ [e])) (map (fun r0 => step B r0 e) (snd (run (relative_dfa A B) (start (relative_dfa A B)) (u ++ v)))))
          by (apply H; eauto 6).
        destruct (accepts A ((u ++ v) ++ [e])); [right|]; exact I.
Qed.

Lemma relative_accepts A B w : proper B ->
  accepts (relative_dfa A B) w = true <-> exists u v, w = u ++ v /\ u <> [] /\ v <> [] /\ accepts A u = true /\ accepts B v = true.
Proof.
  intros P; unfold accepts at 1; cbn [accepting relative_dfa]; rewrite existsb_exists; split.
  - intros [r [I K]]; apply relative_run in I; destruct I as [u [v [-> [N [L ->]]]]]; exists u, v; repeat split; auto.
    intros ->; unfold proper, accepts in P; cbn in *; congruence.
  - intros [u [v [-> [N [_ [K L]]]]]]; exists (run B (start B) v); split; [apply relative_run; eauto 6|exact L].
Qed.

(** The events e of E[h] and what comes after them. *)
Lemma relative_describes A B E F : proper B -> describes A (meaning E) -> describes B (meaning F) ->
  describes (relative_dfa A B) (meaning (Relative E F)).
Proof.
  intros P HE HF g o k S; rewrite relative_accepts by exact P; cbn [meaning]; split.
  - intros [e [H K]]; pose proof (meaning_in _ _ _ H) as I; apply in_split in I; destruct I as [g1 [k1 X]].
    rewrite X in H, K; pose proof S as S'; rewrite X in S'; rewrite after_split in K by exact S'.
    pose proof (meaning_in _ _ _ K) as J; apply in_split in J; destruct J as [g2 [k2 ->]].
    assert (Y : g = g1 ++ e :: g2 /\ k = k2).
    { apply split_once with (o := o); [exact S|]; rewrite X, <- app_assoc; reflexivity. }
    destruct Y as [-> ->]; apply (HE g1 e _ S') in H.
    assert (S2 : ascending (g2 ++ o :: k2)) by (apply ascending_app in S'; destruct S' as [_ [[_ S2] _]]; exact S2).
    apply (HF g2 o k2 S2) in K; exists (types g1 ++ [snd e]), (types g2 ++ [snd o]).
    rewrite types_app; cbn; rewrite <- !app_assoc; cbn; auto using snoc_nonempty.
  - intros [u [v [X [N [M [K L]]]]]]; destruct u as [|x u _] using rev_ind; [congruence|]; destruct v as [|y v _] using rev_ind; [congruence|].
    rewrite app_assoc in X; apply app_inj_tail in X; destruct X as [X <-].
    rewrite <- app_assoc in X; cbn in X; unfold types in X; apply map_eq_app in X; destruct X as [g1 [g2' [-> [X1 X2]]]].
    destruct g2' as [|e g2]; [discriminate|]; cbn in X2; injection X2 as X2 X3; subst.
    rewrite <- app_assoc in *; cbn in *; exists e; split.
    + apply (HE g1 e _ S); exact K.
    + rewrite after_split by exact S; apply HF; [apply ascending_app in S; destruct S as [_ [[_ S2] _]]; exact S2|exact L].
Qed.

(** relative+: the words of one round or more. *)
Fixpoint rounds (A : dfa) (n : nat) (w : list event) : Prop :=
  match n with
  | 0 => w <> [] /\ accepts A w = true
  | S n => exists u v, w = u ++ v /\ u <> [] /\ accepts A u = true /\ rounds A n v
  end.

Lemma rounds_snoc A n : forall w, rounds A (S n) w <-> exists u v, w = u ++ v /\ rounds A n u /\ v <> [] /\ accepts A v = true.
Proof.
  induction n as [|n IH]; intros w.
  - cbn; split; intros [u [v [-> H]]]; exists u, v; tauto.
  - split.
    + intros [u [v [-> [N [K H]]]]]; apply IH in H; destruct H as [x [y [-> [X [M Y]]]]]; exists (u ++ x), y.
      rewrite app_assoc; repeat split; auto; exists u, x; auto.
    + intros [u [v [-> [[x [y [-> [N [K H]]]]] [M L]]]]]; exists x, (y ++ v); rewrite app_assoc; repeat split; auto.
      apply IH; exists y, v; auto.
Qed.

Lemma relative_plus_run A w : proper A -> forall r, In r (run (relative_plus_dfa A) [start A] w) <->
  exists u v, w = u ++ v /\ (u = [] \/ exists n, rounds A n u) /\ r = run A (start A) v.
Proof.
  intros P; induction w as [|e w IH] using rev_ind; intros r.
  - cbn; split.
    + intros [<-|[]]; exists [], []; auto.
    + intros [u [v [E [_ ->]]]]; symmetry in E; apply app_eq_nil in E; destruct E as [-> ->]; left; reflexivity.
  - rewrite run_snoc; cbn [step relative_plus_dfa].
    set (R := map (fun r0 => step A r0 e) (run (relative_plus_dfa A) [start A] w)).
    assert (H : forall r, In r R <-> exists u v, w = u ++ v /\ (u = [] \/ exists n, rounds A n u) /\ r = run A (start A) (v ++ [e])).
    { intros s; unfold R; rewrite in_map_iff; split.
      - intros [q [<- I]]; apply IH in I; destruct I as [u [v [-> [K ->]]]]; exists u, v; rewrite run_snoc; auto.
      - intros [u [v [-> [K ->]]]]; exists (run A (start A) v); split; [rewrite run_snoc; reflexivity|apply IH; eauto]. }
    assert (T : existsb (accepting A) R = true <-> exists n, rounds A n (w ++ [e])).
    { rewrite existsb_exists; split.
      - intros [s [I K]]; apply H in I; destruct I as [u [v [-> [[->|[n L]] ->]]]].
        + exists 0; cbn; split; [apply snoc_nonempty|exact K].
        + exists (S n); apply rounds_snoc; exists u, (v ++ [e]); rewrite app_assoc; repeat split; auto using snoc_nonempty.
      - intros [[|n] K].
        + destruct K as [_ K]; exists (run A (start A) (w ++ [e])); split; [apply H; exists [], w; auto|exact K].
        + apply rounds_snoc in K; destruct K as [u [v [E [K [N L]]]]]; destruct v as [|a v _] using rev_ind; [congruence|].
          rewrite app_assoc in E; apply app_inj_tail in E; destruct E as [-> <-].
          exists (run A (start A) (v ++ [e])); split; [apply H; exists u, v; eauto|exact L]. }
    assert (G : In r R <-> exists u v, w ++ [e] = u ++ v /\ v <> [] /\ (u = [] \/ exists n, rounds A n u) /\ r = run A (start A) v).
    { rewrite H; split.
      - intros [u [v [-> [K ->]]]]; exists u, (v ++ [e]); rewrite app_assoc; auto using snoc_nonempty.
      - intros [u [v [E [N [K ->]]]]]; destruct v as [|a v _] using rev_ind; [congruence|].
        rewrite app_assoc in E; apply app_inj_tail in E; destruct E as [-> <-]; eauto. }
    split.
    + destruct (existsb (accepting A) R) eqn:X; cbn [In]; intros I.
      * destruct I as [<-|I]; [exists (w ++ [e]), []; rewrite app_nil_r; repeat split; auto; right; apply T; reflexivity|].
        apply G in I; destruct I as [u [v [E [_ K]]]]; eauto.
      * apply G in I; destruct I as [u [v [E [_ K]]]]; eauto.
    + intros [u [v [E [K ->]]]]; destruct v as [|a v _] using rev_ind.
      * rewrite app_nil_r in E; subst u; destruct K as [K|K]; [destruct (snoc_nonempty _ _ K)|].
        apply T in K; rewrite K; left; reflexivity.
      * assert (I : In (run A (start A) (v ++ [a])) R) by (apply G; exists u, (v ++ [a]); auto using snoc_nonempty).
        destruct (existsb (accepting A) R); [right|]; exact I.
Qed.

Lemma relative_plus_accepts A w : proper A -> accepts (relative_plus_dfa A) w = true <-> exists n, rounds A n w.
Proof.
  intros P; unfold accepts at 1; cbn [accepting start relative_plus_dfa]; rewrite existsb_exists; split.
  - intros [r [I K]]; apply relative_plus_run in I; [|exact P]; destruct I as [u [v [-> [L ->]]]].
    assert (N : v <> []) by (intros ->; unfold proper, accepts in P; cbn in *; congruence).
    destruct L as [->|[n L]]; [exists 0; split; assumption|exists (S n); apply rounds_snoc; exists u, v; auto].
  - intros [[|n] K].
    + destruct K as [_ K]; exists (run A (start A) w); split; [apply relative_plus_run; [exact P|]; exists [], w; auto|exact K].
    + apply rounds_snoc in K; destruct K as [u [v [-> [K [N L]]]]]; exists (run A (start A) v); split; [|exact L].
      apply relative_plus_run; [exact P|]; exists u, v; eauto.
Qed.

Lemma chain_rounds A E : describes A (meaning E) -> forall n g o k, ascending (g ++ o :: k) ->
  chain (meaning E) n (g ++ o :: k) o <-> rounds A n (types g ++ [snd o]).
Proof.
  intros H; assert (IN : forall n h o, chain (meaning E) n h o -> In o h).
  { induction n as [|n IH]; cbn; intros h o; [apply meaning_in|]; intros [e [_ K]]; apply IH, in_after in K; apply K. }
  induction n as [|n IH]; intros g o k S; cbn.
  - rewrite (H g o k S); split; [auto using snoc_nonempty|tauto].
  - split.
    + intros [e [L K]]; pose proof (meaning_in _ _ _ L) as I; apply in_split in I; destruct I as [g1 [k1 X]].
      rewrite X in L, K; pose proof S as S'; rewrite X in S'; rewrite after_split in K by exact S'.
      pose proof (IN _ _ _ K) as J; apply in_split in J; destruct J as [g2 [k2 ->]].
      assert (Y : g = g1 ++ e :: g2 /\ k = k2).
      { apply split_once with (o := o); [exact S|]; rewrite X, <- app_assoc; reflexivity. }
      destruct Y as [-> ->]; apply (H g1 e _ S') in L.
      assert (S2 : ascending (g2 ++ o :: k2)) by (apply ascending_app in S'; destruct S' as [_ [[_ S2] _]]; exact S2).
      apply (IH g2 o k2 S2) in K; exists (types g1 ++ [snd e]), (types g2 ++ [snd o]).
      rewrite types_app; cbn; rewrite <- !app_assoc; cbn; auto using snoc_nonempty.
    + intros [u [v [X [N [K L]]]]]; destruct u as [|x u _] using rev_ind; [congruence|].
      assert (M : v <> []) by (destruct n; [apply L|]; destruct L as [a [b [-> [M _]]]]; destruct a; [congruence|discriminate]).
      destruct v as [|y v _] using rev_ind; [congruence|].
      rewrite app_assoc in X; apply app_inj_tail in X; destruct X as [X <-].
      rewrite <- app_assoc in X; cbn in X; unfold types in X; apply map_eq_app in X; destruct X as [g1 [g2' [-> [X1 X2]]]].
      destruct g2' as [|e g2]; [discriminate|]; cbn in X2; injection X2 as X2 X3; subst.
      rewrite <- app_assoc in *; cbn in *; exists e; split; [apply (H g1 e _ S); exact K|].
      rewrite after_split by exact S; apply IH; [apply ascending_app in S; destruct S as [_ [[_ S2] _]]; exact S2|exact L].
Qed.

(** |: the events of h that A accepts. [seen] is what A has read before. *)
Fixpoint selected (A : dfa) (q : Q A) (h : history) : history :=
  match h with
  | [] => []
  | o :: h => let p := step A q (snd o) in if accepting A p then o :: selected A p h else selected A p h
  end.

Lemma selected_in A h : forall q o, In o (selected A q h) <-> exists g k, h = g ++ o :: k /\ accepting A (run A q (types g ++ [snd o])) = true.
Proof.
  induction h as [|a h IH]; intros q o; cbn; [split; [intros []|intros [[|b g] [k [E _]]]; discriminate]|].
  assert (H : In o (selected A (step A q (snd a)) h) <-> exists g k, h = g ++ o :: k /\ accepting A (run A q (snd a :: types g ++ [snd o])) = true)
    by apply IH.
  split.
  - intros I; assert (J : (o = a /\ accepting A (step A q (snd a)) = true) \/ In o (selected A (step A q (snd a)) h)).
    { destruct (accepting A (step A q (snd a))); cbn in I; [destruct I as [<-|I]; auto|auto]. }
    destruct J as [[-> J]|J]; [exists [], h; auto|]; apply H in J; destruct J as [g [k [-> K]]]; exists (a :: g), k; auto.
  - intros [[|b g] [k [E K]]]; cbn in E; injection E as E1 E2; subst.
    + change (accepting A (step A q (snd o)) = true) in K; cbn; rewrite K; left; auto.
    + assert (I : In o (selected A (step A q (snd b)) (g ++ o :: k))) by (apply H; eauto).
      destruct (accepting A (step A q (snd b))); [right|]; exact I.
Qed.

Lemma selected_ascending A h : forall q, ascending h -> ascending (selected A q h).
Proof.
  induction h as [|a h IH]; intros q; cbn; [auto|]; intros [H K]; destruct (accepting A _); cbn; [|auto].
  split; [|auto]; intros p I; apply selected_in in I; destruct I as [g [k [-> _]]]; apply H, here.
Qed.

Lemma selected_app A g : forall q k, selected A q (g ++ k) = selected A q g ++ selected A (run A q (types g)) k.
Proof. induction g as [|a g IH]; intros q k; cbn; [reflexivity|]; rewrite IH; destruct (accepting A _); reflexivity. Qed.

Lemma pipe_run A B g : forall p q, run (pipe_dfa A B) (p, q) (types g) = (run A p (types g), run B q (types (selected A p g))).
Proof.
  induction g as [|a g IH]; intros p q; [reflexivity|]; cbn [types map selected].
  etransitivity; [apply IH|]; cbn [fst snd]; destruct (accepting A (step A p (snd a))); reflexivity.
Qed.

Lemma meaning_selected A E h : describes A (meaning E) -> ascending h -> forall p, In p (selected A (start A) h) <-> meaning E h p.
Proof.
  intros H S p; rewrite selected_in; split.
  - intros [g [k [-> K]]]; apply (H g p k S), K.
  - intros K; pose proof (meaning_in _ _ _ K) as I; apply in_split in I; destruct I as [g [k ->]].
    exists g, k; split; [reflexivity|]; apply (H g p k S), K.
Qed.

Lemma pipe_describes A B E F : describes A (meaning E) -> describes B (meaning F) -> describes (pipe_dfa A B) (meaning (Pipe E F)).
Proof.
  intros HE HF g o k S; cbn [meaning]; unfold accepts; change (types g ++ [snd o]) with (types g ++ types [o]); rewrite <- types_app.
  cbn [start pipe_dfa]; rewrite pipe_run; cbn [accepting pipe_dfa fst snd]; rewrite andb_true_iff.
  set (s := selected A (start A) (g ++ o :: k)).
  assert (U : forall x, history_of (meaning E (g ++ o :: k)) x -> x = s).
  { intros x [X1 X2]; apply same_history; [exact X1|apply selected_ascending, S|].
    intros p; rewrite X2; symmetry; apply meaning_selected; assumption. }
  assert (X : history_of (meaning E (g ++ o :: k)) s) by (split; [apply selected_ascending, S|apply meaning_selected; assumption]).
  assert (P : accepting A (run A (start A) (types (g ++ [o]))) = true ->
              s = selected A (start A) g ++ o :: selected A (run A (start A) (types (g ++ [o]))) k).
  { intros K; unfold s; rewrite selected_app; cbn [selected]; rewrite types_app in K |- *; change (types [o]) with [snd o] in *.
    rewrite run_snoc in K |- *; rewrite K; reflexivity. }
  assert (G : selected A (start A) (g ++ [o]) = selected A (start A) g ++ (if accepting A (run A (start A) (types (g ++ [o]))) then [o] else [])).
  { rewrite selected_app, types_app; change (types [o]) with [snd o]; rewrite run_snoc; reflexivity. }
  split.
  - intros [x [K L]]; apply U in K; subst x.
    assert (M : accepting A (run A (start A) (types (g ++ [o]))) = true).
    { rewrite types_app; apply (HE g o k S), (meaning_selected A E _ HE S); eapply meaning_in; exact L. }
    split; [exact M|]; rewrite G, M, types_app; specialize (P M); rewrite P in L.
    apply HF in L; [exact L|]; rewrite <- P; apply selected_ascending, S.
  - intros [M L]; exists s; split; [exact X|]; specialize (P M); rewrite P; apply HF; [rewrite <- P; apply selected_ascending, S|].
    rewrite G, M, types_app in L; exact L.
Qed.

(** /+: what A has read since the last event of B. *)
Lemma between_run A B w : exists q, run (between_dfa A B) (start (between_dfa A B)) w = (q, run B (start B) w) /\ forall r, q = Some r <->
  exists u v, w = u ++ v /\ u <> [] /\ accepts B u = true /\ r = run A (start A) v /\
    forall x y, v = x ++ y -> x <> [] -> accepts B (u ++ x) = false.
Proof.
  induction w as [|e w [q [IH1 IH2]]] using rev_ind.
  - exists None; split; [reflexivity|]; intros r; split; [discriminate|]; intros [[|a u] [v [E [N _]]]]; [congruence|discriminate].
  - rewrite run_snoc, IH1; cbn [step between_dfa fst snd]; rewrite <- (accepts_last B w e).
    eexists; split; [rewrite run_snoc; reflexivity|]; intros r.
    destruct (accepts B (w ++ [e])) eqn:X.
    + split.
      * intros K; injection K as <-; exists (w ++ [e]), []; rewrite app_nil_r; repeat split; auto using snoc_nonempty.
        intros [|a x] y E N; [congruence|discriminate].
      * intros [u [v [E [N [K [-> L]]]]]]; destruct v as [|a v _] using rev_ind; [reflexivity|].
        exfalso; specialize (L (v ++ [a]) []); rewrite app_nil_r, <- E in L; rewrite L in X; auto using snoc_nonempty; discriminate.
    + destruct q as [p|].
      * assert (K : exists u v, w = u ++ v /\ u <> [] /\ accepts B u = true /\ p = run A (start A) v /\
                    forall x y, v = x ++ y -> x <> [] -> accepts B (u ++ x) = false) by (apply IH2; reflexivity).
        destruct K as [u [v [-> [N [K [-> L]]]]]]; split.
        -- intros H; injection H as <-; exists u, (v ++ [e]); rewrite app_assoc, run_snoc; repeat split; auto.
           intros x y E M; destruct y as [|b y _] using rev_ind; [rewrite app_nil_r in E; subst x; rewrite app_assoc; exact X|].
           rewrite app_assoc in E; apply app_inj_tail in E; destruct E as [-> _]; apply (L x y); auto.
        -- intros [u' [v' [E [N' [K' [-> L']]]]]]; destruct v' as [|b v' _] using rev_ind; [rewrite app_nil_r in E; subst u'; congruence|].
           rewrite app_assoc in E; apply app_inj_tail in E; destruct E as [E <-].
           assert (Y : Some (run A (start A) v') = Some (run A (start A) v)).
           { symmetry; apply IH2; exists u', v'; repeat split; auto; intros x y F; apply (L' x (y ++ [e])); rewrite F, app_assoc; reflexivity. }
           injection Y as Y; rewrite run_snoc, Y; reflexivity.
      * split; [discriminate|]; intros [u [v [E [N [K [-> L]]]]]]; destruct v as [|b v _] using rev_ind; [rewrite app_nil_r in E; subst u; congruence|].
        rewrite app_assoc in E; apply app_inj_tail in E; destruct E as [E <-].
        assert (Y : None = Some (run A (start A) v)).
        { apply IH2; exists u, v; repeat split; auto; intros x y F; apply (L x (y ++ [e])); rewrite F, app_assoc; reflexivity. }
        discriminate.
Qed.

Lemma between_accepts A B w : proper A -> accepts (between_dfa A B) w = true <->
  exists u v, w = u ++ v /\ u <> [] /\ accepts B u = true /\ v <> [] /\ accepts A v = true /\
    forall x y, v = x ++ y -> x <> [] -> accepts B (u ++ x) = false.
Proof.
  intros P; destruct (between_run A B w) as [q [H K]]; unfold accepts at 1; rewrite H; cbn [accepting between_dfa fst]; split.
  - destruct q as [r|]; [|discriminate]; intros L; destruct (proj1 (K r) eq_refl) as [u [v [-> [N [M [-> X]]]]]].
    exists u, v; repeat split; auto; intros ->; unfold proper, accepts in P; cbn in *; congruence.
  - intros [u [v [E [N [M [NV [L X]]]]]]]; rewrite (proj2 (K (run A (start A) v))); [exact L|]; exists u, v; auto.
Qed.

(** What comes after an event of E, up to the next. *)
Fixpoint until (B : dfa) (q : Q B) (h : history) : history :=
  match h with
  | [] => []
  | o :: h => let p := step B q (snd o) in if accepting B p then [] else o :: until B p h
  end.

Definition quiet (B : dfa) (q : Q B) (w : list event) : Prop := forall x y, w = x ++ y -> x <> [] -> accepting B (run B q x) = false.

Lemma quiet_cons B q e w : quiet B q (e :: w) <-> accepting B (step B q e) = false /\ quiet B (step B q e) w.
Proof.
  unfold quiet; split.
  - intros H; split; [apply (H [e] w); [reflexivity|discriminate]|].
    intros x y E N; apply (H (e :: x) y); [cbn; f_equal; exact E|discriminate].
  - intros [H K] [|a x] y E N; [congruence|]; cbn in E; injection E as -> E; destruct x as [|b x]; [exact H|].
    apply (K (b :: x) y); [exact E|discriminate].
Qed.

Lemma until_has B a : forall q o b, quiet B q (types a ++ [snd o]) ->
  until B q (a ++ o :: b) = a ++ o :: until B (run B q (types a ++ [snd o])) b.
Proof.
  induction a as [|e a IH]; intros q o b H; cbn in *; apply quiet_cons in H; destruct H as [H K]; rewrite H; [reflexivity|].
  f_equal; apply IH, K.
Qed.

Lemma until_in B h : forall q o, In o (until B q h) -> exists a b, h = a ++ o :: b /\ quiet B q (types a ++ [snd o]).
Proof.
  induction h as [|e h IH]; intros q o; cbn; [intros []|]; destruct (accepting B (step B q (snd e))) eqn:X; [intros []|].
  intros [<-|I]; [exists [], h; split; [reflexivity|]; apply quiet_cons; split; [exact X|]; intros [|a x] y E N; [congruence|discriminate]|].
  apply IH in I; destruct I as [a [b [-> K]]]; exists (e :: a), b; split; [reflexivity|]; apply quiet_cons; auto.
Qed.

Lemma until_ascending B h : forall q, ascending h -> ascending (until B q h).
Proof.
  induction h as [|e h IH]; intros q; cbn; [auto|]; intros [H K]; destruct (accepting B _); cbn; [auto|]; split; [|auto].
  intros p I; apply until_in in I; destruct I as [a [b [-> _]]]; apply H, here.
Qed.

Lemma accepts_on B g (d : occurrence) x (e : occurrence) : accepts B (types (g ++ d :: x) ++ [snd e]) =
  accepting B (run B (run B (start B) (types g ++ [snd d])) (types x ++ [snd e])).
Proof. unfold accepts; rewrite <- run_app, types_app, <- !app_assoc; reflexivity. Qed.

(** Whether E takes place at an event of a part of the history after d. *)
Lemma quiet_events B E g d a o b : describes B (meaning E) -> ascending (g ++ d :: a ++ o :: b) ->
  quiet B (run B (start B) (types g ++ [snd d])) (types a ++ [snd o]) <->
  forall e, meaning E (g ++ d :: a ++ o :: b) e -> fst d < fst e -> fst o < fst e.
Proof.
  intros H S; pose proof (proj1 (ascending_app _ _) S) as [_ [[S1 S2] _]]; pose proof (proj1 (ascending_app _ _) S2) as [_ [[S3 _] S4]].
  split.
  - intros N e M L; pose proof (meaning_in _ _ _ M) as I.
    assert (J : In e (a ++ o :: b)) by (rewrite <- (after_split g d (a ++ o :: b) S); apply in_after; auto).
    apply in_app_or in J; destruct J as [J|[<-|J]]; [| |apply S3, J]; exfalso.
    + apply in_split in J; destruct J as [x [y ->]].
      assert (W : g ++ d :: (x ++ e :: y) ++ o :: b = (g ++ d :: x) ++ e :: (y ++ o :: b)) by (rewrite <- !app_assoc; reflexivity).
      rewrite W in M, S; apply (H _ _ _ S) in M; rewrite accepts_on in M.
      rewrite (N (types x ++ [snd e]) (types y ++ [snd o])) in M; [discriminate| |apply snoc_nonempty].
      rewrite types_app, <- !app_assoc; reflexivity.
    + assert (W : g ++ d :: a ++ o :: b = (g ++ d :: a) ++ o :: b) by (rewrite <- app_assoc; reflexivity).
      rewrite W in M, S; apply (H _ _ _ S) in M; rewrite accepts_on in M.
      rewrite (N (types a ++ [snd o]) []) in M; [discriminate|symmetry; apply app_nil_r|apply snoc_nonempty].
  - intros N x y E1 NX; apply not_true_is_false; intros C; destruct x as [|c x _] using rev_ind; [congruence|].
    assert (Z : exists h1 e h2, a ++ [o] = h1 ++ e :: h2 /\ types h1 = x /\ snd e = c).
    { change (types a ++ [snd o]) with (types a ++ types [o]) in E1; rewrite <- types_app in E1; unfold types in E1.
      rewrite <- app_assoc in E1; apply map_eq_app in E1; destruct E1 as [h1 [[|e h2] [E1 [E2 E3]]]]; [discriminate|].
      cbn in E3; injection E3 as E3 _; eauto 8. }
    destruct Z as [h1 [e [h2 [Z [<- <-]]]]].
    assert (W : g ++ d :: a ++ o :: b = (g ++ d :: h1) ++ e :: (h2 ++ b)).
    { rewrite <- app_assoc; cbn; do 2 f_equal; transitivity ((a ++ [o]) ++ b); [rewrite <- app_assoc; reflexivity|].
      rewrite Z, <- app_assoc; reflexivity. }
    assert (M : meaning E (g ++ d :: a ++ o :: b) e).
    { rewrite W; apply H; [rewrite <- W; exact S|]; rewrite accepts_on; exact C. }
    assert (IE : In e (a ++ [o])) by (rewrite Z; apply here).
    assert (LE : fst d < fst e) by (apply S1; apply in_app_or in IE; apply in_or_app; destruct IE as [IE|[<-|[]]]; [left|right; left]; auto).
    pose proof (N e M LE) as LO; apply in_app_or in IE; destruct IE as [IE|[<-|[]]]; [|lia].
    assert (fst e < fst o) by (apply S4; [exact IE|left; auto]); lia.
Qed.

Lemma part_after B E g d k : describes B (meaning E) -> ascending (g ++ d :: k) ->
  history_of (fun p => In p (g ++ d :: k) /\ fst d < fst p /\ forall e, meaning E (g ++ d :: k) e -> fst d < fst e -> fst p < fst e)
    (until B (run B (start B) (types g ++ [snd d])) k).
Proof.
  intros H S; pose proof (proj1 (ascending_app _ _) S) as [_ [[S1 S2] _]]; split; [apply until_ascending, S2|]; intros p; split.
  - intros I; apply until_in in I; destruct I as [a [b [-> N]]]; split; [apply in_or_app; right; right; apply here|].
    split; [apply S1, here|]; apply (quiet_events B E g d a p b H S), N.
  - intros [I [L N]]; assert (J : In p k) by (rewrite <- (after_split g d k S); apply in_after; auto).
    apply in_split in J; destruct J as [a [b ->]]; rewrite until_has; [apply here|]; apply (quiet_events B E g d a p b H S), N.
Qed.

Lemma between_describes A B F E : proper A -> describes A (meaning F) -> describes B (meaning E) ->
  describes (between_dfa A B) (meaning (Between F E)).
Proof.
  intros P HF HE g o k S; rewrite between_accepts by exact P; cbn [meaning]; split.
  - intros [d [s [D [K U]]]]; pose proof (meaning_in _ _ _ K) as I.
    pose proof (meaning_in _ _ _ D) as J; apply in_split in J; destruct J as [g1 [k1 X]].
    rewrite X in D, U; pose proof S as S'; rewrite X in S'; pose proof (part_after B E g1 d k1 HE S') as V.
    assert (Y : s = until B (run B (start B) (types g1 ++ [snd d])) k1).
    { apply same_history; [apply U|apply V|]; intros p; rewrite (proj2 U p), (proj2 V p); tauto. }
    subst s; apply until_in in I; destruct I as [g2 [k2 [-> N]]]; rewrite until_has in K by exact N.
    assert (Y : g = g1 ++ d :: g2 /\ k = k2).
    { apply split_once with (o := o); [exact S|]; rewrite X, <- app_assoc; reflexivity. }
    destruct Y as [-> ->]; apply (HE g1 d _ S') in D; apply HF in K; [|rewrite <- until_has by exact N; apply V].
    exists (types g1 ++ [snd d]), (types g2 ++ [snd o]); rewrite types_app; cbn; rewrite <- !app_assoc; cbn.
    repeat split; auto using snoc_nonempty; intros x y E1 N1; unfold accepts; specialize (N x y E1 N1).
    rewrite <- run_app in N; exact N.
  - intros [u [v [X [N [K [M [L NX]]]]]]]; destruct u as [|x u _] using rev_ind; [congruence|]; destruct v as [|y v _] using rev_ind; [congruence|].
    rewrite app_assoc in X; apply app_inj_tail in X; destruct X as [X <-].
    rewrite <- app_assoc in X; cbn in X; unfold types in X; apply map_eq_app in X; destruct X as [g1 [g2' [-> [X1 X2]]]].
    destruct g2' as [|d g2]; [discriminate|]; cbn in X2; injection X2 as X2 X3; subst.
    rewrite <- app_assoc in *; cbn in *; fold (types g1) in *; fold (types g2) in *.
    assert (V : quiet B (run B (start B) (types g1 ++ [snd d])) (types g2 ++ [snd o])).
    { intros x y E1 N1; specialize (NX x y E1 N1); unfold accepts in NX; rewrite <- run_app; exact NX. }
    exists d, (until B (run B (start B) (types g1 ++ [snd d])) (g2 ++ o :: k)); split; [apply (HE g1 d _ S); exact K|].
    split; [|apply part_after; assumption]; rewrite until_has by exact V; apply HF; [|exact L].
    rewrite <- until_has by exact V; apply until_ascending; apply ascending_app in S; destruct S as [_ [[_ S] _]]; exact S.
Qed.

(** prefix: any events may come, with identifiers that go on ascending. *)
Fixpoint numbered (n : nat) (w : list event) : history :=
  match w with [] => [] | e :: w => (n, e) :: numbered (S n) w end.

Lemma numbered_types w : forall n, types (numbered n w) = w.
Proof. induction w as [|e w IH]; intros n; cbn; [|rewrite IH]; reflexivity. Qed.

Lemma numbered_from w : forall n p, In p (numbered n w) -> n <= fst p.
Proof. induction w as [|e w IH]; intros n p; cbn; [intros []|]; intros [<-|I]; cbn; [lia|apply IH in I; lia]. Qed.

Lemma numbered_ascending w : forall n, ascending (numbered n w).
Proof. induction w as [|e w IH]; intros n; cbn; [auto|]; split; [|auto]; intros p I; apply numbered_from in I; cbn; lia. Qed.

Lemma prefix_run n A w : forall q, run (prefix_dfa n A) (Some q) w = Some (run A q w).
Proof. induction w as [|e w IH]; intros q; [reflexivity|apply IH]. Qed.

Lemma prefix_accepts n A w : w <> [] -> accepts (prefix_dfa n A) w = within A n (run A (start A) w).
Proof.
  destruct w as [|e w]; [congruence|]; intros _; unfold accepts.
  change (run (prefix_dfa n A) (start (prefix_dfa n A)) (e :: w)) with (run (prefix_dfa n A) (Some (step A (start A) e)) w).
  rewrite prefix_run; reflexivity.
Qed.

Lemma prefix_describes n A E : (forall q, within A n q = true <-> viable A q) -> describes A (meaning E) ->
  describes (prefix_dfa n A) (meaning (Prefix E)).
Proof.
  intros V H g o k S; rewrite prefix_accepts, V by apply snoc_nonempty; cbn [meaning]; unfold viable; split.
  - intros [g' [k' [l [p [X [S' [I M]]]]]]]; destruct (split_once _ _ _ _ _ S X) as [<- _].
    apply in_split in I; destruct I as [l1 [l2 ->]]; exists (types l1 ++ [snd p]); split; [apply snoc_nonempty|].
    assert (W : g ++ o :: l1 ++ p :: l2 = (g ++ o :: l1) ++ p :: l2) by (rewrite <- app_assoc; reflexivity).
    rewrite W in M, S'; apply (H _ _ _ S') in M; unfold accepts in M; rewrite types_app in M; cbn [types map] in M.
    rewrite <- run_app, <- !app_assoc; rewrite <- app_assoc in M; cbn in *; exact M.
  - intros [w [N K]]; destruct w as [|e w _] using rev_ind; [congruence|].
    set (l := numbered (Datatypes.S (fst o)) w); set (p := (Datatypes.S (fst o) + length w, e)).
    assert (LW : forall n q, In q (numbered n w) -> fst q < n + length w).
    { clear; induction w as [|a w IH]; intros n q; cbn; [intros []|]; intros [<-|I]; cbn; [lia|apply IH in I; lia]. }
    assert (S' : ascending ((g ++ o :: l) ++ p :: [])).
    { apply ascending_app in S; destruct S as [S1 [[S2 _] S3]]; apply ascending_app; split; [|split; [cbn; tauto|]].
      - apply ascending_app; split; [exact S1|]; split.
        + cbn; split; [intros q I; apply numbered_from in I; lia|apply numbered_ascending].
        + intros a b I [<-|J]; [apply S3; [exact I|left; auto]|]; apply numbered_from in J.
          assert (fst a < fst o) by (apply S3; [exact I|left; auto]); lia.
      - intros a b I [<-|[]]; cbn [p fst]; apply in_app_or in I; destruct I as [I|[<-|I]]; [|lia|apply LW in I; exact I].
        assert (fst a < fst o) by (apply S3; [exact I|left; auto]); lia. }
    exists g, k, (l ++ [p]), p; split; [reflexivity|]; rewrite <- app_assoc in S'; cbn in S'; split; [exact S'|]; split; [apply here|].
    assert (W : g ++ o :: l ++ [p] = (g ++ o :: l) ++ p :: []) by (rewrite <- app_assoc; reflexivity).
    rewrite W in S' |- *; apply (H (g ++ o :: l) p [] S'); unfold accepts.
    assert (X : types (g ++ o :: l) ++ [snd p] = (types g ++ [snd o]) ++ w ++ [e]).
    { rewrite types_app; cbn [types map]; fold (types l); unfold l; rewrite numbered_types, <- !app_assoc; reflexivity. }
    rewrite X, run_app; exact K.
Qed.

(* --- the theorem ---------------------------------------------------------------------------------------------------- *)

Theorem corollary_1 E : searched E -> describes (automaton E) (meaning E).
Proof.
  induction E; cbn [automaton searched]; intros V; try match goal with H : _ /\ _ |- _ => destruct H as [V1 V2] end.
  - intros g o k _; rewrite accepts_last; cbn; split; [tauto|discriminate].
  - intros g o k _; rewrite accepts_last; cbn; split; [tauto|]; intros H; split; [apply here|exact H].
  - intros g o k S; unfold accepts; cbn [start and_dfa]; rewrite and_run; cbn [accepting and_dfa fst snd meaning].
    rewrite andb_true_iff, (IHE1 V1 g o k S), (IHE2 V2 g o k S); reflexivity.
  - intros g o k S; rewrite not_accepts by apply snoc_nonempty; cbn [meaning]; rewrite (IHE V g o k S), negb_true_iff.
    split; [intros [_ H]; apply not_true_is_false, H|intros H; split; [apply here|congruence]].
  - apply relative_describes; auto using automaton_proper.
  - intros g o k S; rewrite relative_plus_accepts by apply automaton_proper; cbn [meaning].
    split; intros [n H]; exists n; apply (chain_rounds _ _ (IHE V) n g o k S), H.
  - apply pipe_describes; auto.
  - apply between_describes; auto using automaton_proper.
  - apply prefix_describes; auto.
Qed.

(** Theorem 1: the last event of a history is in E[h] exactly if the automaton accepts after the history. *)
Theorem theorem_1 E h o : searched E -> ascending (h ++ [o]) ->
  meaning E (h ++ [o]) o <-> accepts (automaton E) (types (h ++ [o])) = true.
Proof. intros V S; rewrite types_app; apply (corollary_1 E V h o [] S). Qed.

(** An expression does not look ahead. *)
Corollary no_look_ahead E g o k l : searched E -> ascending (g ++ o :: k) -> ascending (g ++ o :: l) ->
  meaning E (g ++ o :: k) o <-> meaning E (g ++ o :: l) o.
Proof. intros V S S'; rewrite (corollary_1 E V g o k S), (corollary_1 E V g o l S'); reflexivity. Qed.

End Expressions.
