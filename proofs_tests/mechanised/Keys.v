(** Keys and windows, judged from the last event: the reduction of equivalence/decide/keys_and_windows.py.

    A match that ends with event n has one key exactly if each of its events has the key of n, and fits in a window
    exactly if each of them is near n. So a partition or a window around it is a filter on single events over streams
    whose events say so ([partition_is_a_filter], [window_is_a_filter]). And which streams say so? Every choice of "has
    the key of n" is that of a stream with two keys ([two_keys_are_enough]), and every choice of zones that come nearer
    is that of a stream whose times never decrease ([zones_are_real]). *)

From Coq Require Import List Arith Lia Bool.
From Cerify Require Import Cel.
Import ListNotations.

Section Keys.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation valuation := (valuation var).
Notation sup := (sup var).
Notation meaning := (meaning event var type_of).
Notation stream := (nat -> event).

(** PARTITION BY: all events of a match have a key, and the same one; no key equals that of an event without. *)
Variable value : Type.
Variable value_dec : forall x y : value, {x = y} + {x <> y}.
Variable key : event -> option value.

Definition equal (k l : option value) : bool :=
  match k, l with
  | Some v, Some w => if value_dec v w then true else false
  | _, _ => false
  end.

Definition one_key (S : stream) (mu : valuation) : Prop :=
  forall p q, sup mu p -> sup mu q -> equal (key (S p)) (key (S q)) = true.

(** WITHIN on the time: all events of a match have a time, and any two are at most w apart. *)
Variable time : event -> option nat.

Definition apart (w : nat) (t u : option nat) : bool :=
  match t, u with
  | Some t, Some u => (t - u <=? w) && (u - t <=? w)
  | _, _ => false
  end.

Definition in_window (w : nat) (S : stream) (mu : valuation) : Prop :=
  forall p q, sup mu p -> sup mu q -> apart w (time (S p)) (time (S q)) = true.

(** Times never decrease; events without one may be anywhere. *)
Definition ordered (S : stream) : Prop :=
  forall p q t u, p <= q -> time (S p) = Some t -> time (S q) = Some u -> t <= u.

(** What an event says of the last one. *)
Definition same_key (S : stream) (n : nat) (e : event) : bool := equal (key e) (key (S n)).
Definition near (w : nat) (S : stream) (n : nat) (e : event) : bool := apart w (time e) (time (S n)).

(** The filter on single events: PROJECT takes the variable W away again, which psi does not have. *)
Definition filtered (psi : formula event var) (W : var) (P : event -> bool) : formula event var :=
  Filter event var (In_ event var psi W) (Every event var W P).

Lemma equal_sound k l : equal k l = true <-> exists v, k = Some v /\ l = Some v.
Proof.
  unfold equal. destruct k as [v |], l as [w |]; try (split; [discriminate | intros (x & H & H'); congruence]).
  destruct (value_dec v w) as [-> | differ]; split; intros H; try reflexivity; try discriminate.
  - exists w. split; reflexivity.
  - destruct H as (x & H & H'). exfalso. apply differ. congruence.
Qed.

Lemma key_of_last S n mu :
  last var mu n -> (one_key S mu <-> forall p, sup mu p -> same_key S n (S p) = true).
Proof.
  intros [holds _]. split.
  - intros one p Hp. exact (one p n Hp holds).
  - intros each p q Hp Hq.
    apply equal_sound. specialize (each p Hp) as Ep. specialize (each q Hq) as Eq. unfold same_key in Ep, Eq.
    apply equal_sound in Ep, Eq. destruct Ep as (v & Ev & En), Eq as (w & Ew & Em).
    exists v. split; [assumption | congruence].
Qed.

Lemma time_of_last w S n mu :
  ordered S -> last var mu n -> (in_window w S mu <-> forall p, sup mu p -> near w S n (S p) = true).
Proof.
  intros order [holds latest]. split.
  - intros inside p Hp. exact (inside p n Hp holds).
  - intros each p q Hp Hq. specialize (each p Hp) as Ep. specialize (each q Hq) as Eq. unfold near in Ep, Eq.
    pose proof (latest p Hp) as Lp. pose proof (latest q Hq) as Lq.
    unfold apart in *.
    destruct (time (S n)) as [last |] eqn:En; [| destruct (time (S p)); discriminate].
    destruct (time (S p)) as [t |] eqn:Et; [| discriminate].
    destruct (time (S q)) as [u |] eqn:Eu; [| discriminate].
    pose proof (order p n t last Lp Et En). pose proof (order q n u last Lq Eu En).
    apply andb_true_iff in Ep, Eq. rewrite !Nat.leb_le in Ep, Eq.
    apply andb_true_iff. rewrite !Nat.leb_le. lia.
Qed.

(** A filter on all events of a valuation: [filtered] has those of psi with all events in P, and W bound to them. *)
Lemma filtered_spec S psi W P i j mu :
  meaning S (filtered psi W P) i j mu <->
  exists nu, meaning S psi i j nu /\ (forall p, sup nu p -> P (S p) = true)
    /\ same var mu (fun B p => (B <> W /\ nu B p) \/ (B = W /\ sup nu p)).
Proof.
  unfold filtered. cbn. split.
  - intros [(nu & H & E) all]. exists nu. split; [assumption |]. split; [| assumption].
    intros p Hp. apply all. apply (proj2 (E W p)). right. split; [reflexivity | assumption].
  - intros (nu & H & all & E). split; [exists nu; split; assumption |].
    intros p Hp. apply all. apply (proj1 (E W p)) in Hp. destruct Hp as [[C _] | [_ Hp]]; [congruence | assumption].
Qed.

(** The two operators around what ends with the last event are such filters. *)
Theorem partition_is_a_filter S psi W i n mu :
  (forall nu, meaning S psi i n nu -> last var nu n) ->
  meaning S (filtered psi W (same_key S n)) i n mu <->
  exists nu, meaning S psi i n nu /\ one_key S nu
    /\ same var mu (fun B p => (B <> W /\ nu B p) \/ (B = W /\ sup nu p)).
Proof.
  intros ends. rewrite filtered_spec.
  split; intros (nu & H & all & E); exists nu; (split; [assumption | split; [| assumption]]).
  - apply (key_of_last S n nu (ends nu H)). exact all.
  - apply (key_of_last S n nu (ends nu H)). exact all.
Qed.

Theorem window_is_a_filter w S psi W i n mu :
  ordered S -> (forall nu, meaning S psi i n nu -> last var nu n) ->
  meaning S (filtered psi W (near w S n)) i n mu <->
  exists nu, meaning S psi i n nu /\ in_window w S nu
    /\ same var mu (fun B p => (B <> W /\ nu B p) \/ (B = W /\ sup nu p)).
Proof.
  intros order ends. rewrite filtered_spec.
  split; intros (nu & H & all & E); exists nu; (split; [assumption | split; [| assumption]]).
  - apply (time_of_last w S n nu order (ends nu H)). exact all.
  - apply (time_of_last w S n nu order (ends nu H)). exact all.
Qed.

(** Any choice of the events that have the key of the last one is that of a stream with two keys. *)
Theorem two_keys_are_enough (one other : value) (chosen : nat -> bool) n :
  one <> other -> chosen n = true ->
  exists keys : nat -> option value,
    (forall p, keys p = Some one \/ keys p = Some other) /\
    forall p, equal (keys p) (keys n) = chosen p.
Proof.
  intros differ last. exists (fun p => if chosen p then Some one else Some other). split.
  - intros p. destruct (chosen p); [left | right]; reflexivity.
  - intros p. rewrite last. destruct (chosen p); unfold equal.
    + destruct (value_dec one one); congruence.
    + destruct (value_dec other one) as [E |]; [exfalso; apply differ; symmetry; exact E | reflexivity].
Qed.

(** Zone i is that of events within the i-th of m windows and not within a narrower one, m that of those further away.
    Any zones up to n that never go up again, and end with the nearest, are those of a stream whose times never
    decrease. *)
Theorem zones_are_real (width : nat -> nat) (m : nat) (zone : nat -> nat) n :
  (forall i j, i < j -> width i < width j) ->
  (forall p, p <= n -> zone p <= m) -> (forall p q, p <= q -> q <= n -> zone q <= zone p) -> zone n = 0 ->
  exists times : nat -> nat,
    (forall p q, p <= q -> q <= n -> times p <= times q) /\
    forall p i, p <= n -> i < m -> (times n - times p <= width i <-> zone p <= i).
Proof.
  intros wider bounded nearer last.
  pose (before := fun z => match z with 0 => 0 | S i => width i + 1 end).
  assert (monotone : forall z y, z <= y -> before z <= before y).
  { intros [| z] [| y] H; cbn; try lia.
    destruct (Nat.eq_dec z y) as [-> | D]; [lia |]. specialize (wider z y). lia. }
  exists (fun p => before m - before (zone p)). split.
  - intros p q Hp Hq. specialize (monotone (zone q) (zone p) (nearer p q Hp Hq)). lia.
  - intros p i Hp Hi. rewrite last. pose proof (monotone (zone p) m (bounded p Hp)) as below. cbn [before].
    assert (E : before m - 0 - (before m - before (zone p)) = before (zone p)) by lia. rewrite E.
    destruct (zone p) as [| z]; cbn [before]; [lia |].
    split; intros H.
    + destruct (le_lt_dec i z) as [L |]; [| lia].
      destruct (Nat.eq_dec i z) as [-> | D]; [lia |]. specialize (wider i z). lia.
    + destruct (Nat.eq_dec z i) as [-> | D]; [lia |]. specialize (wider z i). lia.
Qed.

End Keys.
