(** SASE+ without negation and composition: the accepting runs of a query's automaton (sase07, section 3 and appendix A) have
    the buffers that the declarative definition (section 2.2; semantics/sase/denote.py) has as matches, for each of the four
    event selection strategies.

    The strategies and the conditions on which a Kleene plus stops are written twice: for the definition as its text says, for
    the automaton as formulas on edges (section 3.2, Table 1, and automata/nfab/compile.py). Both take from the query, as they
    are, the clauses of WHERE that look at an event, and what the clock says. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.

Section Sase.

Inductive strategy := StrictContiguity | PartitionContiguity | SkipTillNextMatch | SkipTillAnyMatch.

(** What is selected so far: the pairs (component, position), the last one first. *)
Definition selection := list (nat * nat).

Variable events : nat.                                    (* how many events the stream has *)
Variable components : nat.
Variable kleene : nat -> bool.                            (* whether a component is a Kleene plus *)
Variable strategy_of : nat -> strategy.
Variable typed : nat -> nat -> bool.                      (* whether the event at p is of the type of component k *)
Variable clauses : selection -> nat -> list ((nat -> bool) * bool).   (* of the next event of k; whether of the partition *)
Variable windowed : bool.                                 (* whether there is a WITHIN *)
Variable spans : selection -> nat -> option bool.         (* whether the event at p is in the window, if the times compare *)
Variable ends : nat -> list (selection -> bool).          (* the conditions on the last event of component k *)
Variable cut : nat -> bool.                               (* whether component k has a ! *)
Variable neither every waits cut_first : bool.            (* readings: kleene_skips, last_kleene, stream_end, cut_in_last_place *)
Variable some_component : 0 < components.

(* --- by the definition ---------------------------------------------------------------------------------------------- *)

Definition in_window (chosen : selection) (p : nat) : bool :=
  match chosen with [] => true | _ => negb windowed || match spans chosen p with Some b => b | None => false end end.

(** Whether the event at p is one for component k, given what is selected. *)
Definition selects (chosen : selection) (k p : nat) : bool :=
  typed k p && in_window chosen p && forallb (fun c => fst c p) (clauses chosen k).

Definition in_partition (chosen : selection) (k r : nat) : bool := forallb (fun c => negb (snd c) || fst c r) (clauses chosen k).

(** Whether the event at r may be passed over while the next one of component k is awaited (section 2.2.1). *)
Definition skips (chosen : selection) (k r : nat) : bool :=
  match strategy_of k with
  | StrictContiguity => false
  | PartitionContiguity => negb (in_partition chosen k r)
  | SkipTillNextMatch => negb (selects chosen k r)
  | SkipTillAnyMatch => true
  end.

Definition by_relevance (k : nat) : bool := match strategy_of k with SkipTillNextMatch => true | _ => false end.
Definition next_selects (chosen : selection) (k t : nat) : bool := (k + 1 <? components) && selects chosen (k + 1) t.
Definition is_ended (chosen : selection) (k : nat) : bool := forallb (fun P => P chosen) (ends k).
Definition window_over (chosen : selection) (t : nat) : bool :=
  windowed && match spans chosen t with Some b => negb b | None => false end.

(** Whether the Kleene plus k must stop before position t (section 2.2.2): the window is over, or ! cuts it. *)
Definition must_stop (chosen : selection) (k t : nat) : bool :=
  ((t <? events) && window_over chosen t) ||
  (cut k && match ends k with
            | _ :: _ => is_ended chosen k
            | [] => if k =? components - 1 then cut_first else (t <? events) && next_selects chosen k t
            end).

(** Whether a Kleene plus that has not stopped skips the event at r. *)
Definition passes (chosen : selection) (k r : nat) : bool :=
  negb (must_stop chosen k r) && skips chosen k r && negb (neither && by_relevance k && next_selects chosen k r).

(** Whether it may stop before position t. *)
Definition may_stop (chosen : selection) (k t : nat) : bool :=
  match ends k with
  | _ :: _ => is_ended chosen k
  | [] =>
      if (k =? components - 1) && every then true
      else if t <? events then next_selects chosen k t || negb (passes chosen k t || (selects chosen k t && negb (must_stop chosen k t)))
      else negb waits || must_stop chosen k t
  end.

(* --- the declarative definition ------------------------------------------------------------------------------------- *)

Definition all_between (a b : nat) (P : nat -> bool) : Prop := forall r, a <= r < b -> P r = true.

(** Component k, selected last, at l, may be left before position t. *)
Definition stops (chosen : selection) (k l t : nat) : Prop :=
  if kleene k then l < t /\ may_stop chosen k t = true /\ all_between (l + 1) t (passes chosen k) else t = l + 1.

(** Selections, complete or not: each grows by one event after the other. *)
Inductive selected : selection -> Prop :=
| begins p : p < events -> selects [] 0 p = true -> selected [(0, p)]
| goes_on k l chosen p : selected ((k, l) :: chosen) -> kleene k = true -> l < p < events ->
    selects ((k, l) :: chosen) k p = true -> must_stop ((k, l) :: chosen) k p = false ->
    all_between (l + 1) p (passes ((k, l) :: chosen) k) -> selected ((k, p) :: (k, l) :: chosen)
| comes_next k l chosen p t : selected ((k, l) :: chosen) -> k + 1 < components -> t <= p < events ->
    selects ((k, l) :: chosen) (k + 1) p = true -> stops ((k, l) :: chosen) k l t ->
    all_between t p (skips ((k, l) :: chosen) (k + 1)) -> selected ((k + 1, p) :: (k, l) :: chosen).

(** A match: the last component is selected and, if it is a Kleene plus, may stop. *)
Definition is_match (chosen : selection) : Prop :=
  selected chosen /\ exists l before t, chosen = (components - 1, l) :: before /\ t <= events /\ stops chosen (components - 1) l t.

(* --- the automaton -------------------------------------------------------------------------------------------------- *)

(** A state awaits the first event of a component, or is the second state of a Kleene plus. The last, Await components,
    accepts. *)
Inductive state := Await (k : nat) | Within (k : nat).

Definition entered (k : nat) : state := if kleene k then Within k else Await (k + 1).

(** Formulas on the edges; they look at what is in the buffer and at the event at t. *)
Record edges := {
  begins_by : selection -> nat -> nat -> bool;
  ignores_by : selection -> nat -> nat -> bool;
  takes_by : selection -> nat -> nat -> bool;
  ignores_more_by : selection -> nat -> nat -> bool;
  proceeds_by : selection -> nat -> nat -> bool
}.

(** A run: its state, its buffer, and the position that it reads next. *)
Inductive reached (theta : edges) : state -> selection -> nat -> Prop :=
| start_begin p : p < events -> begins_by theta [] 0 p = true -> reached theta (entered 0) [(0, p)] (p + 1)
| begin k chosen t : reached theta (Await k) chosen t -> k < components -> t < events -> begins_by theta chosen k t = true ->
    reached theta (entered k) ((k, t) :: chosen) (t + 1)
| ignore k chosen t : reached theta (Await k) chosen t -> k < components -> t < events -> ignores_by theta chosen k t = true ->
    reached theta (Await k) chosen (t + 1)
| take k chosen t : reached theta (Within k) chosen t -> t < events -> takes_by theta chosen k t = true ->
    reached theta (Within k) ((k, t) :: chosen) (t + 1)
| ignore_within k chosen t : reached theta (Within k) chosen t -> t < events -> ignores_more_by theta chosen k t = true ->
    reached theta (Within k) chosen (t + 1)
| proceed k chosen t : reached theta (Within k) chosen t -> proceeds_by theta chosen k t = true ->
    reached theta (Await (k + 1)) chosen t.

(** The formulas of section 3.2, each by its name there. The window is on all edges but those of the start state. Behind the
    last event begin, take and ignore are false, and an atom that looks at an event is false. *)
Definition conjunction (bs : list bool) : bool := forallb (fun b => b) bs.
Definition disjunction (bs : list bool) : bool := existsb (fun b => b) bs.
Definition there (t : nat) : bool := negb (t =? events).
Definition final (k : nat) : bool := k + 1 =? components.             (* whether the state after component k is F *)

Definition theta_window (chosen : selection) (t : nat) (over : bool) : list bool :=
  if windowed then [there t && match spans chosen t with Some b => xorb b over | None => false end] else [].

Definition theta_select (start : bool) (chosen : selection) (k t : nat) : bool :=
  conjunction (typed k t :: map (fun c => fst c t) (clauses chosen k) ++ if start then [] else theta_window chosen t false).

Definition theta_begin (chosen : selection) (k t : nat) : bool :=
  there t && theta_select (match chosen with [] => true | _ => false end) chosen k t.

Definition theta_skip (more : bool) (chosen : selection) (k t : nat) : bool :=
  match strategy_of k with
  | StrictContiguity => false
  | PartitionContiguity => negb (conjunction (map (fun c => fst c t) (filter snd (clauses chosen k))))
  | SkipTillNextMatch =>
      if more && neither && negb (final k) then conjunction [negb (theta_select false chosen k t); negb (theta_begin chosen (k + 1) t)]
      else negb (theta_select false chosen k t)
  | SkipTillAnyMatch => true
  end.

Definition theta_ignore_first (chosen : selection) (k t : nat) : bool := there t && theta_skip false chosen k t.

Definition theta_end (chosen : selection) (k : nat) : list bool := map (fun P => P chosen) (ends k).

Definition theta_forced_stop (chosen : selection) (k t : nat) : bool :=
  disjunction (theta_window chosen t true ++
    if negb (cut k) then []
    else if negb (length (ends k) =? 0) then [conjunction (theta_end chosen k)]
    else if negb (final k) then [theta_begin chosen (k + 1) t]
    else [cut_first]).

Definition theta_take (chosen : selection) (k t : nat) : bool :=
  there t && conjunction [negb (theta_forced_stop chosen k t); theta_select false chosen k t].

Definition theta_ignore (chosen : selection) (k t : nat) : bool :=
  there t && conjunction [negb (theta_forced_stop chosen k t); theta_skip true chosen k t].

Definition theta_auto_stop (chosen : selection) (k t : nat) : bool :=
  if negb (there t) && waits then theta_forced_stop chosen k t
  else conjunction [negb (theta_take chosen k t); negb (theta_ignore chosen k t)].

Definition theta_proceed (chosen : selection) (k t : nat) : bool :=
  if negb (length (ends k) =? 0) then conjunction (theta_end chosen k)
  else if negb (final k) then disjunction [theta_begin chosen (k + 1) t; theta_auto_stop chosen k t]
  else if every then true else theta_auto_stop chosen k t.

Definition by_formulas : edges := {|
  begins_by := theta_begin;
  ignores_by := theta_ignore_first;
  takes_by := theta_take;
  ignores_more_by := theta_ignore;
  proceeds_by := theta_proceed
|}.

(** The buffer of an accepting run. *)
Definition is_buffer (chosen : selection) : Prop := exists t, reached by_formulas (Await components) chosen t.

(* --- they say the same ---------------------------------------------------------------------------------------------- *)

(** Edges with the conditions of the definition. *)
Definition by_definition : edges := {|
  begins_by := selects;
  ignores_by := skips;
  takes_by := fun chosen k t => selects chosen k t && negb (must_stop chosen k t);
  ignores_more_by := passes;
  proceeds_by := may_stop
|}.

Lemma conjunction_map {T} (f : T -> bool) xs : conjunction (map f xs) = forallb f xs.
Proof. induction xs as [|x xs IH]; cbn; [reflexivity|]; rewrite <- IH; reflexivity. Qed.

Lemma conjunction_app xs ys : conjunction (xs ++ ys) = conjunction xs && conjunction ys.
Proof. apply forallb_app. Qed.

Lemma there_before t : t < events -> there t = true /\ (t <? events) = true.
Proof. intros L; unfold there; split; [apply negb_true_iff, Nat.eqb_neq; lia|apply Nat.ltb_lt, L]. Qed.

Lemma there_at_end : there events = false /\ (events <? events) = false.
Proof. unfold there; rewrite Nat.eqb_refl, Nat.ltb_irrefl; auto. Qed.

Lemma select_same chosen k t : chosen <> [] -> t < events -> theta_select false chosen k t = selects chosen k t.
Proof.
  intros N L; apply there_before in L; destruct L as [L _]; unfold theta_select, selects, theta_window, in_window.
  destruct chosen as [|c chosen]; [congruence|]; rewrite app_comm_cons, conjunction_app; cbn [conjunction forallb].
  change (forallb (fun b => b) (map ?f ?l)) with (conjunction (map f l)); rewrite conjunction_map, L.
  destruct windowed, (spans _ t) as [[]|]; cbn; destruct (typed k t), (forallb _ _); reflexivity.
Qed.

Lemma begin_same chosen k t : t < events -> theta_begin chosen k t = selects chosen k t.
Proof.
  intros L; unfold theta_begin; rewrite (proj1 (there_before t L)); destruct chosen as [|c chosen].
  - unfold theta_select, selects, in_window; rewrite app_nil_r; cbn.
    change (forallb (fun b => b) (map ?f ?l)) with (conjunction (map f l)); rewrite conjunction_map.
    destruct (typed k t); reflexivity.
  - apply select_same; [discriminate|exact L].
Qed.

Lemma begin_at_end chosen k : theta_begin chosen k events = false.
Proof. unfold theta_begin; rewrite (proj1 there_at_end); reflexivity. Qed.

Lemma partition_same chosen k t : conjunction (map (fun c => fst c t) (filter snd (clauses chosen k))) = in_partition chosen k t.
Proof.
  unfold in_partition; induction (clauses chosen k) as [|[P []] cs IH]; cbn; [reflexivity|rewrite <- IH; reflexivity|exact IH].
Qed.

Lemma ignore_first_same chosen k t : chosen <> [] -> t < events -> theta_ignore_first chosen k t = skips chosen k t.
Proof.
  intros N L; unfold theta_ignore_first; rewrite (proj1 (there_before t L)); unfold theta_skip, skips; cbn [andb]; destruct (strategy_of k); auto; [rewrite partition_same; reflexivity|].
  cbn [andb]; rewrite select_same by assumption; reflexivity.
Qed.

Lemma next_same k chosen t : k < components -> (final k = true /\ (k =? components - 1) = true /\ next_selects chosen k t = false) \/
  (final k = false /\ (k =? components - 1) = false /\ next_selects chosen k t = selects chosen (k + 1) t).
Proof.
  intros K; unfold final, next_selects; destruct (Nat.eq_dec (k + 1) components) as [E|E]; [left|right]; repeat split.
  - apply Nat.eqb_eq, E.
  - apply Nat.eqb_eq; lia.
  - apply andb_false_iff; left; apply Nat.ltb_ge; lia.
  - apply Nat.eqb_neq, E.
  - apply Nat.eqb_neq; lia.
  - replace (k + 1 <? components) with true by (symmetry; apply Nat.ltb_lt; lia); reflexivity.
Qed.

Lemma end_same chosen k : conjunction (theta_end chosen k) = is_ended chosen k.
Proof. apply conjunction_map. Qed.

Lemma forced_same chosen k t : chosen <> [] -> k < components -> t <= events -> theta_forced_stop chosen k t = must_stop chosen k t.
Proof.
  intros N K L; unfold theta_forced_stop, must_stop, disjunction; rewrite existsb_app; f_equal.
  - unfold theta_window, window_over; destruct (Nat.eq_dec t events) as [->|M].
    + rewrite (proj1 there_at_end), (proj2 there_at_end); destruct windowed; reflexivity.
    + destruct (there_before t) as [X Y]; [lia|]; rewrite X, Y; destruct windowed, (spans chosen t) as [[]|]; reflexivity.
  - destruct (cut k); [|reflexivity]; cbn [negb]; rewrite <- end_same; destruct (ends k) as [|P Ps] eqn:E; cbn [length Nat.eqb negb].
    + destruct (next_same k chosen t K) as [[-> [-> _]]|[-> [-> X]]]; cbn [existsb negb]; [apply orb_false_r|]; rewrite X, orb_false_r.
      destruct (Nat.eq_dec t events) as [->|M]; [rewrite begin_at_end, (proj2 there_at_end); reflexivity|].
      rewrite begin_same by lia; replace (t <? events) with true by (symmetry; apply Nat.ltb_lt; lia); reflexivity.
    + cbn [existsb]; apply orb_false_r.
Qed.

Lemma take_same chosen k t : chosen <> [] -> k < components -> t < events ->
  theta_take chosen k t = selects chosen k t && negb (must_stop chosen k t).
Proof.
  intros N K L; unfold theta_take; rewrite (proj1 (there_before t L)), forced_same, select_same by (auto; lia); cbn [conjunction forallb andb].
  rewrite andb_true_r; apply andb_comm.
Qed.

Lemma ignore_same chosen k t : chosen <> [] -> k < components -> t < events -> theta_ignore chosen k t = passes chosen k t.
Proof.
  intros N K L; unfold theta_ignore, passes; rewrite (proj1 (there_before t L)), forced_same by (auto; lia); cbn [conjunction forallb andb].
  rewrite andb_true_r, <- andb_assoc; f_equal; unfold theta_skip, skips, by_relevance.
  destruct (strategy_of k); rewrite ?andb_false_r, ?andb_true_r; cbn [andb negb]; auto; [rewrite partition_same; reflexivity|].
  rewrite select_same, begin_same by assumption.
  destruct neither; cbn [andb negb]; [|rewrite andb_true_r; reflexivity].
  destruct (next_same k chosen t K) as [[-> [_ ->]]|[-> [_ ->]]]; cbn [conjunction forallb andb negb]; rewrite ?andb_true_r; reflexivity.
Qed.

Lemma proceed_same chosen k t : chosen <> [] -> k < components -> t <= events -> theta_proceed chosen k t = may_stop chosen k t.
Proof.
  intros N K L; unfold theta_proceed, may_stop; rewrite end_same; destruct (ends k) as [|P Ps] eqn:E; [|reflexivity]; cbn [length Nat.eqb negb].
  unfold theta_auto_stop; destruct (Nat.eq_dec t events) as [->|M].
  - rewrite (proj1 there_at_end), (proj2 there_at_end), begin_at_end; cbn [negb andb].
    unfold theta_take, theta_ignore; rewrite (proj1 there_at_end); cbn [andb]; rewrite forced_same by assumption.
    destruct (next_same k chosen events K) as [[-> [-> _]]|[-> [-> _]]]; destruct every, waits; cbn; rewrite ?orb_false_r; reflexivity.
  - destruct (there_before t) as [X Y]; [lia|]; rewrite X, Y, take_same, ignore_same, begin_same by (auto; lia); cbn [negb andb].
    assert (Z : conjunction [negb (selects chosen k t && negb (must_stop chosen k t)); negb (passes chosen k t)] =
                negb (passes chosen k t || (selects chosen k t && negb (must_stop chosen k t)))).
    { cbn; rewrite andb_true_r, negb_orb; apply andb_comm. }
    rewrite Z; destruct (next_same k chosen t K) as [[-> [-> ->]]|[-> [-> ->]]]; destruct every; cbn; rewrite ?orb_false_r; reflexivity.
Qed.

Lemma reached_range theta q chosen t : reached theta q chosen t ->
  chosen <> [] /\ t <= events /\ match q with Within k => k < components | Await _ => True end.
Proof.
  induction 1; try (destruct IHreached as [N [L K]]); repeat split; try discriminate; auto; try lia;
    unfold entered; destruct (kleene _); auto.
Qed.

(** The formulas on the edges say what the definition says. *)
Theorem formulas_are_conditions q chosen t : reached by_formulas q chosen t <-> reached by_definition q chosen t.
Proof.
  split; induction 1 as [p P H|k chosen t R IH K T H|k chosen t R IH K T H|k chosen t R IH T H|k chosen t R IH T H|k chosen t R IH H];
    try (destruct (reached_range _ _ _ _ R) as [N [L C]]).
  - apply start_begin; [exact P|]; refine (eq_trans (eq_sym (begin_same _ _ _ P)) H).
  - apply begin; try assumption; refine (eq_trans (eq_sym (begin_same _ _ _ T)) H).
  - apply ignore; try assumption; refine (eq_trans (eq_sym (ignore_first_same _ _ _ N T)) H).
  - apply take; try assumption; refine (eq_trans (eq_sym (take_same _ _ _ N C T)) H).
  - apply ignore_within; try assumption; refine (eq_trans (eq_sym (ignore_same _ _ _ N C T)) H).
  - apply proceed; try assumption; refine (eq_trans (eq_sym (proceed_same _ _ _ N C L)) H).
  - apply start_begin; [exact P|]; refine (eq_trans (begin_same _ _ _ P) H).
  - apply begin; try assumption; refine (eq_trans (begin_same _ _ _ T) H).
  - apply ignore; try assumption; refine (eq_trans (ignore_first_same _ _ _ N T) H).
  - apply take; try assumption; refine (eq_trans (take_same _ _ _ N C T) H).
  - apply ignore_within; try assumption; refine (eq_trans (ignore_same _ _ _ N C T) H).
  - apply proceed; try assumption; refine (eq_trans (proceed_same _ _ _ N C L) H).
Qed.

(** What the declarative definition says of a run's state. *)
Definition described (q : state) (chosen : selection) (t : nat) : Prop :=
  selected chosen /\ t <= events /\
  match q with
  | Within k => kleene k = true /\ exists l before, chosen = (k, l) :: before /\ l < t /\ k < components /\
      all_between (l + 1) t (passes chosen k)
  | Await k => exists j l before s, k = j + 1 /\ k <= components /\ chosen = (j, l) :: before /\ s <= t /\ stops chosen j l s /\
      all_between s t (skips chosen k) /\ (k = components -> s = t)
  end.

Lemma none_between a P : all_between a a P. Proof. intros r L; lia. Qed.

Lemma one_more a b P : all_between a b P -> P b = true -> all_between a (b + 1) P.
Proof. intros H K r L; destruct (Nat.eq_dec r b) as [->|N]; [exact K|apply H; lia]. Qed.

(** A state after an event is written. *)
Lemma after_entering k p before : selected ((k, p) :: before) -> k < components -> p < events ->
  described (entered k) ((k, p) :: before) (p + 1).
Proof.
  intros S K P; unfold entered; destruct (kleene k) eqn:E; (split; [exact S|]; split; [lia|]).
  - split; [exact E|]; exists p, before; repeat split; try lia; apply none_between.
  - exists k, p, before, (p + 1); unfold stops; rewrite E; repeat split; try lia; apply none_between.
Qed.

Lemma reached_described q chosen t : reached by_definition q chosen t -> described q chosen t.
Proof.
  induction 1 as [p P H|k chosen t R IH K T H|k chosen t R IH K T H|k chosen t R IH T H|k chosen t R IH T H|k chosen t R IH H].
  - apply after_entering; [apply begins; assumption|exact some_component|exact P].
  - destruct IH as [S [_ [j [l [before [s [-> [_ [-> [L [X [Y _]]]]]]]]]]]].
    apply after_entering; [|exact K|exact T]; apply comes_next with (t := s); auto; lia.
  - destruct IH as [S [_ [j [l [before [s [-> [_ [-> [L [X [Y _]]]]]]]]]]]]; split; [exact S|]; split; [lia|].
    exists j, l, before, s; repeat split; auto; try lia; apply one_more; assumption.
  - cbn in H; apply andb_true_iff in H; destruct H as [H M]; apply negb_true_iff in M.
    destruct IH as [S [_ [E [l [before [-> [L [K X]]]]]]]]; split; [apply goes_on; auto; lia|]; split; [lia|]; split; [exact E|].
    exists t, ((k, l) :: before); repeat split; try lia; apply none_between.
  - destruct IH as [S [_ [E [l [before [-> [L [K X]]]]]]]]; split; [exact S|]; split; [lia|]; split; [exact E|].
    exists l, before; repeat split; try lia; apply one_more; assumption.
  - destruct IH as [S [N [E [l [before [-> [L [K X]]]]]]]]; split; [exact S|]; split; [exact N|].
    exists k, l, before, t; unfold stops; rewrite E; repeat split; auto; try lia; apply none_between.
Qed.

Lemma ignoring k chosen a b : reached by_definition (Await k) chosen a -> k < components -> a <= b <= events ->
  all_between a b (skips chosen k) -> reached by_definition (Await k) chosen b.
Proof.
  intros R K [L M] H; induction L as [|b L IH]; [exact R|]; replace (S b) with (b + 1) by lia; apply ignore; [|lia|lia|apply H; lia].
  apply IH; [lia|]; intros r N; apply H; lia.
Qed.

Lemma passing k chosen a b : reached by_definition (Within k) chosen a -> a <= b <= events -> all_between a b (passes chosen k) ->
  reached by_definition (Within k) chosen b.
Proof.
  intros R [L M] H; induction L as [|b L IH]; [exact R|]; replace (S b) with (b + 1) by lia; apply ignore_within; [|lia|apply H; lia].
  apply IH; [lia|]; intros r N; apply H; lia.
Qed.

(** After its last event a component is left where it stops. *)
Lemma leaving chosen k l t : reached by_definition (entered k) chosen (l + 1) -> t <= events -> stops chosen k l t -> reached by_definition (Await (k + 1)) chosen t.
Proof.
  unfold entered, stops; destruct (kleene k); [|intros R _ ->; exact R].
  intros R L [N [M H]]; apply proceed; [|exact M]; apply passing with (a := l + 1); auto; lia.
Qed.

Lemma selected_reached chosen : selected chosen -> forall k l before, chosen = (k, l) :: before -> reached by_definition (entered k) chosen (l + 1).
Proof.
  induction 1 as [p P H|k l chosen p R IH E L H M X|k l chosen p t R IH K L H M X]; intros k' l' before EQ; inversion EQ; subst.
  - apply start_begin; assumption.
  - specialize (IH _ _ _ eq_refl); unfold entered in *; rewrite E in *; apply take; auto; try lia;
      [|cbn; rewrite H, M; reflexivity].
    apply passing with (a := l + 1); auto; lia.
  - specialize (IH _ _ _ eq_refl); apply begin; auto; try lia.
    apply ignoring with (a := t); auto; try lia; apply leaving with (l := l); auto; lia.
Qed.

Theorem runs_are_matches chosen : is_buffer chosen <-> is_match chosen.
Proof.
  split.
  - intros [t R]; apply formulas_are_conditions, reached_described in R; destruct R as [S [L [j [l [before [s [E [_ [-> [M [X [_ N]]]]]]]]]]]].
    split; [exact S|]; replace (components - 1) with j by lia; exists l, before, s; repeat split; auto; lia.
  - intros [S [l [before [t [-> [L X]]]]]]; exists t; apply formulas_are_conditions.
    assert (R : reached by_definition (Await (components - 1 + 1)) ((components - 1, l) :: before) t).
    { apply leaving with (l := l); auto; apply (selected_reached _ S _ _ before); reflexivity. }
    replace (components - 1 + 1) with components in R by lia; exact R.
Qed.

End Sase.
