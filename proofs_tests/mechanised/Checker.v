(** The checker of certificates of equivalence/decide/checker.py: if it accepts, the two queries mean the same.

    A certificate is a list of pairs of sets of states of both automata, which are put side by side. Two sets are joined
    if the pairs, as equations between sets that may be united, make them equal. The checker asks that the sets of each
    pair agree on being final, and that each step from a pair, and from the two starts, leads to sets that are joined.
    Then joined sets accept the same words, by induction on the length of the word: bisimulation up to congruence. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge Determinize.

Section Checker.

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

(** The words that an automaton accepts, where marks are sets. *)
Definition reads (A : cea) (w : word) : Prop := exists u, accepts A u /\ eqw w u.

Inductive claim := Equivalent | Contained.

(* --- one automaton: which sets of its states accept the same -------------------------------------------------------- *)

Section Pairs.

Variable C : cea.
Variable dec : forall p q : Q C, {p = q} + {p <> q}.

Definition states := list (Q C).
Definition pair := (states * states)%type.
Definition relation := list pair.

Definition member (q : Q C) (X : states) : bool := if in_dec dec q X then true else false.
Definition included (X Y : states) : bool := forallb (fun q => member q Y) X.

Definition accepting (X : states) : bool := existsb (final C) X.

(** Where a set leads on an event with the marks L. *)
Definition after (X : states) (e : event) (L : marks) : states :=
  flat_map (fun q => flat_map (fun t => if same_marks L (fst t) then [snd t] else []) (step C q e)) X.

(** The sets of marks that a step from the set can make on the event. *)
Definition enabled (X : states) (e : event) : list marks := flat_map (fun q => map fst (step C q e)) X.

(** The set with both sets of each pair of which it has one. *)
Definition grow (R : relation) (X : states) : states :=
  X ++ flat_map (fun r => if included (fst r) X || included (snd r) X then fst r ++ snd r else []) R.

(** A round that adds states adds those of a new pair, so that there are no more rounds than pairs. *)
Definition closure (R : relation) (X : states) : states := Nat.iter (length R) (grow R) X.

Definition joined (R : relation) (X Y : states) : bool :=
  included (closure R X) (closure R Y) && included (closure R Y) (closure R X).

(** [events] are the types of events: one event of each. *)
Definition steps_joined (R : relation) (events : list event) (r : pair) : bool :=
  forallb (fun e => forallb (fun L => joined R (after (fst r) e L) (after (snd r) e L)) (enabled (fst r ++ snd r) e)) events.

Definition agrees (r : pair) : bool := Bool.eqb (accepting (fst r)) (accepting (snd r)).

Definition checks (R : relation) (events : list event) (start : pair) : bool :=
  forallb agrees R && forallb (steps_joined R events) (start :: R).

(** What a set accepts. *)
Definition takes (X : states) (w : word) : Prop := exists q u, In q X /\ runs C q u /\ eqw w u.

Lemma member_spec q X : member q X = true <-> In q X.
Proof. unfold member; destruct (in_dec dec q X); split; auto; discriminate. Qed.

Lemma included_spec X Y : included X Y = true <-> incl X Y.
Proof. unfold included, incl; rewrite forallb_forall; split; intros H q I; apply member_spec; auto. Qed.

Lemma takes_incl X Y w : incl X Y -> takes X w -> takes Y w.
Proof. intros H [q [u [I K]]]; exists q, u; auto. Qed.

Lemma takes_app X Y w : takes (X ++ Y) w <-> takes X w \/ takes Y w.
Proof.
  split.
  - intros [q [u [I K]]]; apply in_app_or in I; destruct I; [left|right]; exists q, u; auto.
  - intros [H|H]; eapply takes_incl; eauto; intros q I; apply in_or_app; auto.
Qed.

Lemma takes_nil X : takes X [] <-> accepting X = true.
Proof.
  unfold takes, accepting; rewrite existsb_exists; split.
  - intros [q [u [I [R E]]]]; inversion E; subst; exists q; auto.
  - intros [q [I F]]; exists q, []; repeat split; auto; constructor.
Qed.

Lemma in_after X e L p : In p (after X e L) <-> exists q M, In q X /\ In (M, p) (step C q e) /\ eqm L M.
Proof.
  unfold after; rewrite in_flat_map; split.
  - intros [q [I J]]; apply in_flat_map in J; destruct J as [[M p'] [J K]]; cbn [fst snd] in K.
    destruct (same_marks L M) eqn:E; [|destruct K]; destruct K as [<-|[]]; exists q, M; repeat split; auto;
      apply (same_spec var var_dec) in E; apply E.
  - intros [q [M [I [J E]]]]; exists q; split; [exact I|]; apply in_flat_map; exists (M, p); split; [exact J|].
    cbn [fst snd]; apply (same_spec var var_dec) in E; rewrite E; left; auto.
Qed.

Lemma takes_cons X e L w : takes X ((e, L) :: w) <-> takes (after X e L) w.
Proof.
  split.
  - intros [q [u [I [R E]]]]; inversion E as [|a [f M] w' u' [E1 E2] E']; subst; cbn in E1, E2; subst f.
    destruct R as [p [J R]]; exists p, u'; split; [apply in_after; eauto 6|auto].
  - intros [p [u [I [R E]]]]; apply in_after in I; destruct I as [q [M [I [J K]]]].
    exists q, ((e, M) :: u); split; [exact I|]; split; [cbn; eauto|]; constructor; [split; auto|exact E].
Qed.

(** Two sets that accept the same words of length n. *)
Definition alike (n : nat) (r : pair) : Prop := forall w, length w = n -> takes (fst r) w <-> takes (snd r) w.

Section Length.

Variable n : nat.
Variable R : relation.
Variable all_alike : forall r, In r R -> alike n r.

Lemma takes_grow X w : length w = n -> takes (grow R X) w <-> takes X w.
Proof.
  intros N; unfold grow; rewrite takes_app; split; [|auto]; intros [H|[q [u [I K]]]]; [exact H|].
  apply in_flat_map in I; destruct I as [r [I J]].
  destruct (included (fst r) X || included (snd r) X) eqn:E; [|destruct J].
  assert (T : takes (fst r ++ snd r) w) by (exists q, u; auto).
  rewrite takes_app in T; pose proof (all_alike r I w N) as A.
  apply orb_true_iff in E; destruct E as [E|E]; apply included_spec in E; eapply takes_incl; try exact E; tauto.
Qed.

Lemma takes_closure X w : length w = n -> takes (closure R X) w <-> takes X w.
Proof.
  intros N; unfold closure; induction (length R) as [|k IH]; cbn [Nat.iter nat_rect]; [tauto|]; rewrite takes_grow by exact N; exact IH.
Qed.

Lemma joined_alike X Y : joined R X Y = true -> alike n (X, Y).
Proof.
  unfold joined; rewrite andb_true_iff, !included_spec; intros [H K] w N; cbn [fst snd].
  rewrite <- (takes_closure X w N), <- (takes_closure Y w N); split; apply takes_incl; assumption.
Qed.

End Length.

Variable events : list event.

(** The list of events has one of each type: for each event one from which all steps are the same. This is what the
    algebra of predicates is trusted for. *)
Variable all_types : forall e, exists f, In f events /\ forall q, step C q e = step C q f.

Lemma after_same X e f L : (forall q, step C q e = step C q f) -> after X e L = after X f L.
Proof. intros H; unfold after; induction X as [|q X IH]; cbn; [reflexivity|]; rewrite H, IH; reflexivity. Qed.

Lemma takes_eqm X e L M w : eqm L M -> takes (after X e L) w <-> takes (after X e M) w.
Proof.
  intros E; split; apply takes_incl; intros p I; apply in_after in I; destruct I as [q [N [I [J K]]]]; apply in_after;
    exists q, N; (split; [exact I|split; [exact J|]]); eapply eqm_trans; [apply eqm_sym|..]; eauto; apply eqm_sym, E.
Qed.

(** One step from a pair: the sets after it are joined, or both are empty. *)
Lemma next_alike R r n : (forall s, In s R -> alike n s) -> steps_joined R events r = true -> alike (Datatypes.S n) r.
Proof.
  intros H K [|[e L] w] N; [discriminate|]; cbn in N; injection N as N; rewrite !takes_cons.
  destruct (all_types e) as [f [I F]]; rewrite !(after_same _ e f L F).
  unfold steps_joined in K; rewrite forallb_forall in K; specialize (K f I); rewrite forallb_forall in K.
  assert (G : forall X, (exists q, In q (after X f L)) -> incl X (fst r ++ snd r) ->
              takes (after (fst r) f L) w <-> takes (after (snd r) f L) w).
  { intros X [p P] S; apply in_after in P; destruct P as [q [M [P [J E]]]].
    assert (T : In M (enabled (fst r ++ snd r) f)).
    { apply in_flat_map; exists q; split; [auto|]; apply in_map_iff; exists (M, p); auto. }
    rewrite !(takes_eqm _ f L M w E); apply (joined_alike n R H _ _ (K M T)); exact N. }
  split; intros T; (eapply G; [destruct T as [q [u [P _]]]; exists q; exact P| |exact T]); intros q P; apply in_or_app; auto.
Qed.

Theorem checks_sound R start : checks R events start = true ->
  forall w, w <> [] -> takes (fst start) w <-> takes (snd start) w.
Proof.
  unfold checks; cbn [forallb]; rewrite !andb_true_iff, !forallb_forall; intros [F [S K]].
  assert (A : forall n r, In r R -> alike n r).
  { induction n as [|n IH]; intros r I; [|eapply next_alike; eauto].
    intros [|a w] N; [|discriminate]; rewrite !takes_nil; specialize (F r I); apply eqb_prop in F; rewrite F; tauto. }
  intros [|a w] N; [congruence|]; apply (next_alike R start (length w) (A (length w)) S); reflexivity.
Qed.

End Pairs.

(* --- two automata side by side -------------------------------------------------------------------------------------- *)

Variable A B : cea.
Variable A_dec : forall p q : Q A, {p = q} + {p <> q}.
Variable B_dec : forall p q : Q B, {p = q} + {p <> q}.

Definition both : cea := union_cea event var A B.

Definition both_dec (p q : Q both) : {p = q} + {p <> q}.
Proof. decide equality. Defined.

Definition left_start : states both := map inl (initial A).
Definition right_start : states both := map inr (initial B).

(** A is contained in B if the two of them together accept what B accepts. *)
Definition starts (c : claim) : pair both :=
  match c with
  | Equivalent => (left_start, right_start)
  | Contained => (left_start ++ right_start, right_start)
  end.

Definition proves (c : claim) (R : relation both) (events : list event) : bool := checks both both_dec R events (starts c).

Lemma takes_left w : takes both left_start w <-> reads A w.
Proof.
  assert (H : forall w p, runs both (inl p) w <-> runs A p w)
    by (intros; apply (runs_embedded event var A both inl); auto).
  split.
  - intros [q [u [I [R E]]]]; apply in_map_iff in I; destruct I as [p [<- I]]; exists u; split; [exists p; split; [exact I|apply H, R]|exact E].
  - intros [u [[p [I R]] E]]; exists (inl p), u; split; [apply in_map, I|]; split; [apply H, R|exact E].
Qed.

Lemma takes_right w : takes both right_start w <-> reads B w.
Proof.
  assert (H : forall w p, runs both (inr p) w <-> runs B p w)
    by (intros; apply (runs_embedded event var B both inr); auto).
  split.
  - intros [q [u [I [R E]]]]; apply in_map_iff in I; destruct I as [p [<- I]]; exists u; split; [exists p; split; [exact I|apply H, R]|exact E].
  - intros [u [[p [I R]] E]]; exists (inr p), u; split; [apply in_map, I|]; split; [apply H, R|exact E].
Qed.

Variable events : list event.
Variable all_types : forall e, exists f, In f events /\ (forall q, step A q e = step A q f) /\ (forall q, step B q e = step B q f).

Theorem checker_is_sound c R : proves c R events = true ->
  forall w, w <> [] -> match c with
                       | Equivalent => reads A w <-> reads B w
                       | Contained => reads A w -> reads B w
                       end.
Proof.
  intros K w N.
  assert (T : forall e, exists f, In f events /\ forall q : Q both, step both q e = step both q f).
  { intros e; destruct (all_types e) as [f [I [FA FB]]]; exists f; split; [exact I|].
    intros [p|p]; cbn; [rewrite FA|rewrite FB]; reflexivity. }
  pose proof (checks_sound both both_dec events T R (starts c) K w N) as H; destruct c; cbn [starts fst snd] in H.
  - rewrite takes_left, takes_right in H; exact H.
  - rewrite takes_app, takes_left, takes_right in H; tauto.
Qed.

End Checker.

(* --- queries -------------------------------------------------------------------------------------------------------- *)

Section Queries.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation compile := (compile event var var_dec type_of).
Notation meaning := (meaning event var type_of).
Notation cea := (cea event var).
Notation Q := (Q event var).
Notation step := (step event var).
Notation reads := (reads event var).
Notation sup := (sup var).

Definition dec (T : Type) : Type := forall p q : T, {p = q} + {p <> q}.

Lemma filtered_dec c : forall A : cea, dec (Q A) -> dec (Q (filtered event var var_dec c A)).
Proof.
  induction c as [X P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; cbn; intros A H; auto.
  unfold dec in *; decide equality.
Defined.

Lemma best_dec c (A : cea) : dec (T c) -> dec (Q A) -> dec (Q (best_cea event var c A)).
Proof.
  intros H K; unfold dec in *; cbn; decide equality; apply list_eq_dec; intros; decide equality; auto.
Defined.

(** The states of a compiled automaton can be compared. *)
Lemma compile_dec phi : dec (Q (compile phi)).
Proof.
  induction phi; cbn [Compile.compile]; try assumption; try (apply filtered_dec; assumption);
    try (apply best_dec; [unfold dec; cbn; decide equality|assumption]); unfold dec in *; cbn;
    repeat first [assumption | apply list_eq_dec | decide equality].
Defined.

(** One event of each type, for two automata. *)
Definition covers (events : list event) (A B : cea) : Prop :=
  forall e, exists f, In f events /\ (forall q, step A q e = step A q f) /\ (forall q, step B q e = step B q f).

Lemma reads_meaning S phi i j mu :
  meaning S phi i j mu <-> exists w, reads (compile phi) w /\ spans event var S i j w /\ same var mu (val event var i w).
Proof.
  rewrite (theorem_6_2_valuations event var var_dec type_of); split.
  - intros [w [W K]]; exists w; split; [exists w; split; [exact W|]|exact K].
    clear; induction w as [|a w IH]; constructor; [split; [reflexivity|apply eqm_refl]|exact IH].
  - intros [w [[u [U E]] [P M]]]; exists u; split; [exact U|].
    assert (X : events event var w = events event var u).
    { clear - E; induction E as [|a b w u [E1 _] E IH]; [reflexivity|]; cbn; f_equal; assumption. }
    assert (P' : spans event var S i j u) by (eapply events_spans; [symmetry; exact X|exact P]).
    split; [exact P'|]; destruct P as [_ [O L]], P' as [_ [O' L']].
    eapply same_trans; [exact M|]; apply (eqw_same event var S w u i O O'); [lia|exact E].
Qed.

(** What the checker accepts at the level of valuations. *)
Theorem certified_valuations c phi psi R events : covers events (compile phi) (compile psi) ->
  proves event var var_dec _ _ (compile_dec phi) (compile_dec psi) c R events = true ->
  forall S i j mu, match c with
                   | Equivalent => meaning S phi i j mu <-> meaning S psi i j mu
                   | Contained => meaning S phi i j mu -> meaning S psi i j mu
                   end.
Proof.
  intros V K S i j mu; pose proof (checker_is_sound event var var_dec _ _ _ _ events V c R K) as H.
  destruct c; rewrite !reads_meaning.
  - split; intros [w [W [P M]]]; exists w; (split; [apply H; [apply P|exact W]|auto]).
  - intros [w [W [P M]]]; exists w; split; [apply H; [apply P|exact W]|auto].
Qed.

(** At the level of complex events each set of marks is one mark, X. *)
Definition single_variable (X : var) (A : cea) : cea :=
  remarked event var (fun L => match L with [] => [] | _ => [X] end) A.

Lemma reads_single X A w : reads (single_variable X A) w <->
  exists u, reads A u /\ eqw event var w (remark event var (fun L => match L with [] => [] | _ => [X] end) u).
Proof.
  split.
  - intros [v [[q [I R]] E]]; apply remarked_runs in R; destruct R as [u [R ->]]; exists u; split; [|exact E].
    exists u; split; [exists q; auto|]; clear; induction u as [|a u IH]; constructor; [split; [reflexivity|apply eqm_refl]|exact IH].
  - intros [u [[v [[q [I R]] E]] D]]; exists (remark event var (fun L => match L with [] => [] | _ => [X] end) v).
    split; [exists q; split; [exact I|apply remarked_runs; eauto]|].
    revert w D; clear - E; induction E as [|[e L] [f M] u v [E1 E2] E IH]; [auto|].
    intros w D; inversion D as [|a b w' u' [D1 D2] D']; subst; constructor; [|apply IH, D'].
    cbn in *; subst f; split; [exact D1|]; cbn.
    eapply eqm_trans; [exact D2|]; destruct L as [|y L], M as [|z M]; try apply eqm_refl; exfalso.
    + apply (E2 z); left; reflexivity.
    + apply (E2 y); left; reflexivity.
Qed.

Lemma single_meaning S X phi i j C :
  (exists mu, meaning S phi i j mu /\ agree (sup mu) C) <->
  exists w, reads (single_variable X (compile phi)) w /\ spans event var S i j w /\ agree (sup (val event var i w)) C.
Proof.
  set (f := fun L : marks var => match L with [] => [] | _ => [X] end).
  assert (G : forall u w, eqw event var w (remark event var f u) -> events event var w = events event var u /\
              shape event var w = shape event var u).
  { induction u as [|[e L] u IH]; intros w E; inversion E as [|[d K] b w' u' [E1 E2] E']; subst; [auto|].
    destruct (IH w' E') as [H1 H2]; cbn in E1, E2; subst d; split; [cbn; f_equal; exact H1|].
    cbn; f_equal; [|exact H2]; unfold Words.is_marked; cbn.
    destruct L as [|y L], K as [|z K]; cbn in E2; auto; exfalso; [apply (E2 z); left; auto|apply (E2 X); left; auto]. }
  split.
  - intros [mu [H K]]; apply reads_meaning in H; destruct H as [u [U [P M]]]; exists (remark event var f u).
    assert (E : eqw event var (remark event var f u) (remark event var f u)).
    { clear; induction u as [|a u IH]; constructor; [split; [reflexivity|apply eqm_refl]|exact IH]. }
    destruct (G u _ E) as [G1 G2]; split; [apply reads_single; exists u; auto|]; split; [eapply events_spans; eauto|].
    intros p; rewrite sup_shape, G2, <- sup_shape, <- (K p); split; apply sup_same; auto using same_sym.
  - intros [w [W [P K]]]; apply reads_single in W; destruct W as [u [U E]]; destruct (G u w E) as [G1 G2].
    exists (val event var i u); split.
    + apply reads_meaning; exists u; split; [exact U|]; split; [eapply events_spans; [symmetry; exact G1|exact P]|apply same_refl].
    + intros p; rewrite sup_shape, <- G2, <- sup_shape; apply K.
Qed.

Theorem certified_events c X phi psi R events :
  covers events (single_variable X (compile phi)) (single_variable X (compile psi)) ->
  proves event var var_dec (single_variable X (compile phi)) (single_variable X (compile psi))
    (compile_dec phi) (compile_dec psi) c R events = true ->
  forall S i j C,
    let has phi := exists mu, meaning S phi i j mu /\ agree (sup mu) C in
    match c with Equivalent => has phi <-> has psi | Contained => has phi -> has psi end.
Proof.
  intros V K S i j C; pose proof (checker_is_sound event var var_dec _ _ _ _ events V c R K) as H.
  destruct c; cbv zeta; rewrite !(single_meaning S X).
  - split; intros [w [W [P M]]]; exists w; (split; [apply H; [apply P|exact W]|auto]).
  - intros [w [W [P M]]]; exists w; split; [apply H; [apply P|exact W]|auto].
Qed.

End Queries.

(* --- examples ------------------------------------------------------------------------------------------------------- *)

Section Examples.

Let a : formula nat nat := Event nat nat 0.
Let once : formula nat nat := Plus nat nat a.
Let twice : formula nat nat := Plus nat nat once.

Let check phi psi R : bool :=
  proves nat nat Nat.eq_dec _ _ (compile_dec nat nat Nat.eq_dec (fun e => e) phi)
    (compile_dec nat nat Nat.eq_dec (fun e => e) psi) Equivalent R [0; 1].

(** A+ and (A+)+: the states of both are false before an A, and true after it. *)
Let pairs : relation nat nat (both nat nat (compile nat nat Nat.eq_dec (fun e => e) once)
                                           (compile nat nat Nat.eq_dec (fun e => e) twice)) :=
  [([inl false], [inr false]); ([inl true; inl false], [inr true; inr false])].

Example a_certificate : check once twice pairs = true.
Proof. reflexivity. Qed.

Example a_pair_is_missing : check once twice (firstn 1 pairs) = false.
Proof. reflexivity. Qed.

Example one_is_final_and_the_other_is_not : check once twice (([inl false], [inr true]) :: pairs) = false.
Proof. reflexivity. Qed.

End Examples.
