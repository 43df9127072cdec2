(** The derived operators of event expressions by their definitions in others (vldb92, section 2.3;
    semantics/event_expressions/denote.py), each with the meaning that its text has. As they are expressions, Theorem 1 is
    about them too. "any", where a definition speaks of it, is every event. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Expressions.

Section Derived.

Variable event : Type.
Variable letters : list event.

Notation expression := (expression event).
Notation history := (history event).
Notation meaning := (meaning event).
Notation ascending := (ascending event).
Notation after := (after event).
Notation history_of := (history_of event).
Notation And := (And event).
Notation Not := (Not event).
Notation Relative := (Relative event).
Notation Pipe := (Pipe event).
Notation Between := (Between event).
Notation searched := (searched event letters).

Definition every : expression := Not (Null event).
Definition or (E F : expression) : expression := Not (And (Not E) (Not F)).
Definition prior (E F : expression) : expression := And (Relative E every) F.
Definition first : expression := Not (Relative every every).
Definition sequence (E F : expression) : expression := And (Relative E first) F.
Fixpoint in_a_row (n : nat) : expression := match n with 0 => every | S n => sequence (in_a_row n) every end.
Definition nth (n : nat) (E : expression) : expression := Pipe (Pipe E (in_a_row n)) first.         (* from 0 *)
Definition then_ (F E : expression) : expression := Relative (And (Not (prior E every)) E) F.       (* F / E *)
Definition first_after (E1 E2 F : expression) : expression := Between (And E2 (Not (prior F every))) E1.
Definition before (E : expression) : expression := prior E every.
Definition happened (E : expression) : expression := or E (before E).
Definition series (E T : expression) : expression := And T (Not (prior (Not E) T)).                 (* E * T *)

(** Of prefix over any types of events this cannot be decided; without prefix it can, and of finitely many. *)
Lemma meaning_dec E h o : searched E -> ascending h -> In o h -> meaning E h o \/ ~ meaning E h o.
Proof.
  intros V S I; apply in_split in I; destruct I as [g [k ->]]; rewrite (corollary_1 event letters E V g o k S).
  destruct (accepts event _ _); [left; reflexivity|right; discriminate].
Qed.

Lemma meaning_every h o : meaning every h o <-> In o h.
Proof. cbn; tauto. Qed.

Theorem meaning_or E F h o : searched E -> searched F -> ascending h ->
  meaning (or E F) h o <-> meaning E h o \/ meaning F h o.
Proof.
  intros V W S; cbn; split.
  - intros [I N]; destruct (meaning_dec E h o V S I), (meaning_dec F h o W S I); tauto.
  - intros [H|H]; pose proof (meaning_in event _ _ _ H); tauto.
Qed.

(** F after an event of E. *)
Theorem meaning_prior E F h o : meaning (prior E F) h o <-> meaning F h o /\ exists e, meaning E h e /\ fst e < fst o.
Proof.
  unfold prior; cbn [Expressions.meaning]; setoid_rewrite meaning_every; setoid_rewrite in_after; split.
  - intros [[e [H [_ L]]] K]; eauto.
  - intros [K [e [H L]]]; split; [|exact K]; exists e; repeat split; auto; eapply meaning_in, K.
Qed.

Theorem meaning_first h o : meaning first h o <-> In o h /\ forall p, In p h -> fst o <= fst p.
Proof.
  unfold first; cbn [Expressions.meaning]; setoid_rewrite meaning_every; setoid_rewrite in_after; split; intros [I N]; (split; [exact I|]).
  - intros p J; destruct (le_lt_dec (fst o) (fst p)) as [L|L]; [exact L|]; exfalso; apply N; eauto.
  - intros [e [J [_ L]]]; specialize (N e J); lia.
Qed.

(** F at the event just after one of E. *)
Theorem meaning_sequence E F h o : meaning (sequence E F) h o <->
  meaning F h o /\ exists e, meaning E h e /\ fst e < fst o /\ forall p, In p h -> fst e < fst p -> fst o <= fst p.
Proof.
  unfold sequence; cbn [Expressions.meaning]; setoid_rewrite meaning_first; setoid_rewrite in_after; split.
  - intros [[e [H [[_ L] N]]] K]; split; [exact K|]; exists e; repeat split; auto.
  - intros [K [e [H [L N]]]]; split; [|exact K]; exists e; repeat split; auto; [eapply meaning_in, K|]; intros p [I M]; auto.
Qed.

Lemma meaning_in_a_row n : forall h o, ascending h -> meaning (in_a_row n) h o <-> In o (skipn n h).
Proof.
  induction n as [|n IH]; intros h o S; [apply meaning_every|].
  cbn [in_a_row]; rewrite meaning_sequence, meaning_every; split.
  - intros [I [e [H [L N]]]]; apply IH in H; [|exact S].
    pose proof (firstn_skipn n h) as X; destruct (skipn n h) as [|a k] eqn:E; [destruct H|].
    assert (Y : skipn (Datatypes.S n) h = k).
    { clear - E; revert h E; induction n as [|n IH]; intros [|b h] E; cbn in *; try discriminate; [congruence|apply IH, E]. }
    rewrite Y; rewrite <- X in I, S; apply ascending_app in S; destruct S as [_ [[S1 S2] S3]].
    assert (LA : fst a <= fst e) by (destruct H as [<-|H]; [lia|apply Nat.lt_le_incl, S1, H]).
    apply in_app_or in I; destruct I as [I|[<-|I]]; [specialize (S3 o a I (or_introl eq_refl)); lia|lia|exact I].
  - intros I; pose proof (firstn_skipn n h) as X; destruct (skipn n h) as [|a k] eqn:E.
    { exfalso; clear - E I; revert h E I; induction n as [|n IH]; intros [|b h] E I; cbn in *; try discriminate; try destruct I; eapply IH; eauto. }
    assert (Y : skipn (Datatypes.S n) h = k).
    { clear - E; revert h E; induction n as [|n IH]; intros [|b h] E; cbn in *; try discriminate; [congruence|apply IH, E]. }
    rewrite Y in I; apply in_split in I; destruct I as [g [l ->]].
    split; [rewrite <- X; apply in_or_app; right; right; apply in_or_app; right; left; reflexivity|].
    pose proof S as S'; rewrite <- X in S'; apply ascending_app in S'; destruct S' as [_ [S1 S2]].
    assert (Z : exists g' e, a :: g = g' ++ [e]) by (destruct (exists_last (l := a :: g)) as [g' [e Z]]; [discriminate|eauto]).
    destruct Z as [g' [e Z]]; assert (W : a :: g ++ o :: l = g' ++ e :: o :: l).
    { change (a :: g ++ o :: l) with ((a :: g) ++ o :: l); rewrite Z, <- app_assoc; reflexivity. }
    rewrite W in *; pose proof S1 as S3; apply ascending_app in S3; destruct S3 as [_ [[T1 [T2 _]] T3]].
    exists e; repeat split.
    + apply IH; [exact S|]; rewrite E; apply in_or_app; right; left; reflexivity.
    + apply T1; left; reflexivity.
    + intros p J L; rewrite <- X in J; apply in_app_or in J; destruct J as [J|J].
      * specialize (S2 p e J); rewrite in_app_iff in S2; specialize (S2 (or_intror (or_introl eq_refl))); lia.
      * apply in_app_or in J; destruct J as [J|[<-|[<-|J]]]; [specialize (T3 p e J (or_introl eq_refl)); lia|lia|lia|].
        apply Nat.lt_le_incl, T2, J.
Qed.

(** The n-th event of E, counted from 0. *)
Theorem meaning_nth n E h o : ascending h ->
  meaning (nth n E) h o <-> exists g, history_of (meaning E h) g /\ nth_error g n = Some o.
Proof.
  intros S; unfold nth; cbn [Expressions.meaning]; setoid_rewrite meaning_first.
  assert (SK : forall g : history, ascending g -> ascending (skipn n g)).
  { intros g A; rewrite <- (firstn_skipn n g) in A; apply ascending_app in A; apply A. }
  assert (HD : forall (g : history) p, nth_error g n = Some p <-> exists k, skipn n g = p :: k).
  { clear; induction n as [|n IH]; intros [|a g] p; cbn; try apply IH; (split; [intros H|intros [k H]]); try discriminate; inversion H; eauto. }
  split.
  - intros [x [[X1 X2] [I M]]]; destruct (proj1 (X2 o) I) as [g [[G1 G2] K]]; exists g; split; [split; assumption|].
    apply meaning_in_a_row in K; [|exact G1]; apply HD.
    assert (X : x = skipn n g).
    { apply same_history; [exact X1|apply SK, G1|]; intros p; rewrite (X2 p); split.
      - intros [g' [[G1' G2'] K']]; assert (g' = g) by (apply same_history; auto; intros q; rewrite (G2' q), (G2 q); tauto).
        subst g'; apply meaning_in_a_row; assumption.
      - intros J; exists g; split; [split; assumption|apply meaning_in_a_row; assumption]. }
    subst x; pose proof (SK g G1) as A; destruct (skipn n g) as [|a k]; [destruct I|]; exists k; destruct I as [<-|I]; [reflexivity|].
    destruct A as [A _]; specialize (A o I); specialize (M a (or_introl eq_refl)); lia.
  - intros [g [[G1 G2] N]]; apply HD in N; destruct N as [k N]; exists (skipn n g); split.
    + split; [apply SK, G1|]; intros p; split.
      * intros I; exists g; split; [split; assumption|apply meaning_in_a_row; assumption].
      * intros [g' [[G1' G2'] K']]; assert (g' = g) by (apply same_history; auto; intros q; rewrite (G2' q), (G2 q); tauto).
        subst g'; apply meaning_in_a_row in K'; assumption.
    + pose proof (SK g G1) as A; rewrite N in *; split; [left; reflexivity|]; intros p [<-|I]; [lia|]; apply Nat.lt_le_incl, A, I.
Qed.

(** F in the history after the first event of E. *)
Theorem meaning_then F E h o : meaning (then_ F E) h o <->
  exists e, meaning E h e /\ (forall p, meaning E h p -> fst e <= fst p) /\ meaning F (after h e) o.
Proof.
  unfold then_; cbn [Expressions.meaning]; setoid_rewrite meaning_prior; setoid_rewrite meaning_every; split.
  - intros [e [[[I N] H] K]]; exists e; repeat split; auto; intros p J.
    destruct (le_lt_dec (fst e) (fst p)) as [L|L]; [exact L|]; exfalso; apply N; eauto.
  - intros [e [H [M K]]]; exists e; split; [|exact K]; pose proof (meaning_in event _ _ _ H) as I; repeat split; auto.
    intros [_ [p [J L]]]; specialize (M p J); lia.
Qed.

(** In a history between an event of E1 and the next, E2 with no F before it. *)
Theorem meaning_first_after E1 E2 F h o : meaning (first_after E1 E2 F) h o <->
  exists d g, meaning E1 h d /\ meaning E2 g o /\ (forall p, meaning F g p -> fst o <= fst p) /\
    history_of (fun p => In p h /\ fst d < fst p /\ forall e, meaning E1 h e -> fst d < fst e -> fst p < fst e) g.
Proof.
  unfold first_after; cbn [Expressions.meaning]; setoid_rewrite meaning_prior; setoid_rewrite meaning_every; split.
  - intros [d [g [H [[K [I N]] G]]]]; exists d, g; (split; [exact H|]); (split; [exact K|]); (split; [|exact G]); intros p J.
    destruct (le_lt_dec (fst o) (fst p)) as [L|L]; [exact L|]; exfalso; apply N; eauto.
  - intros [d [g [H [K [M G]]]]]; exists d, g; pose proof (meaning_in event _ _ _ K) as I; split; [exact H|]; split; [|exact G].
    split; [exact K|]; split; [exact I|]; intros [_ [p [J L]]]; specialize (M p J); lia.
Qed.

Theorem meaning_before E h o : meaning (before E) h o <-> In o h /\ exists e, meaning E h e /\ fst e < fst o.
Proof. unfold before; rewrite meaning_prior, meaning_every; tauto. Qed.

Theorem meaning_happened E h o : searched E -> ascending h ->
  meaning (happened E) h o <-> meaning E h o \/ (In o h /\ exists e, meaning E h e /\ fst e < fst o).
Proof. intros V S; unfold happened; rewrite meaning_or, meaning_before by (try exact S; cbn; tauto); tauto. Qed.

(** T, where E takes place at every event before. *)
Theorem meaning_series E T h o : searched E -> ascending h ->
  meaning (series E T) h o <-> meaning T h o /\ forall p, In p h -> fst p < fst o -> meaning E h p.
Proof.
  intros V S; unfold series; cbn [Expressions.meaning]; setoid_rewrite meaning_prior; cbn [Expressions.meaning]; split.
  - intros [K [I N]]; split; [exact K|]; intros p J L; destruct (meaning_dec E h p V S J) as [H|H]; [exact H|].
    exfalso; apply N; split; [exact K|]; exists p; auto.
  - intros [K M]; split; [exact K|]; split; [eapply meaning_in, K|]; intros [_ [p [[J H] L]]]; apply H; auto.
Qed.

End Derived.
