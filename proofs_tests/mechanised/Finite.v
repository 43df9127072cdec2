(** The automaton of a formula is finite, as Definition 5.1 of tods21 asks: of its states, finitely many are enough. In
    Compile.v the states of UNLESS and of the strategies that compare are lists, of which there are infinitely many; of two
    lists with the same members one is enough. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Determinize Checker.

Section Finite.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation marks := (marks var).
Notation cea := (cea event var).
Notation runs := (runs event var).
Notation accepts := (accepts event var).
Notation Q := (Q event var).
Notation initial := (initial event var).
Notation final := (final event var).
Notation step := (step event var).
Notation compile := (compile event var var_dec type_of).
Notation lang := (lang event var var_dec type_of).
Notation retarget := (retarget var).

(** Each step of ts is one of us too, up to f. *)
Definition like {T U : Type} (f : T -> U) (ts us : list (marks * T)) : Prop :=
  forall L p, In (L, p) ts -> exists q, In (L, q) us /\ f p = f q.

(** A function that takes each state to one of a list, and only states that go on alike to the same one. *)
Definition folds (A : cea) (canon : Q A -> Q A) (states : list (Q A)) : Prop :=
  (forall q, In (canon q) states) /\ (forall q, canon (canon q) = canon q) /\
  forall p q, canon p = canon q -> final A p = final A q /\ forall e, like canon (step A p e) (step A q e).

Definition finite (A : cea) : Prop := exists canon states, folds A canon states.

(** The automaton with these states. *)
Definition folded (A : cea) (canon : Q A -> Q A) : cea := {|
  Compile.Q := Q A;
  Compile.initial := map canon (initial A);
  Compile.final := final A;
  Compile.step := fun q e => retarget canon (step A q e)
|}.

(** All states that a run can reach are in the list. *)
Definition has_states (A : cea) (states : list (Q A)) : Prop :=
  (forall q, In q (initial A) -> In q states) /\ forall q e L p, In (L, p) (step A q e) -> In p states.

Lemma alike_runs A canon states w : folds A canon states -> forall p q, canon p = canon q -> runs A p w -> runs A q w.
Proof.
  intros [_ [_ H]]; induction w as [|[e L] w IH]; intros p q E R; destruct (H p q E) as [F S].
  - cbn in *; congruence.
  - destruct R as [p' [I R]]; destruct (S e L p' I) as [q' [J K]]; exists q'; split; [exact J|apply (IH p'); assumption].
Qed.

Lemma folded_runs A canon states w : folds A canon states -> forall q, runs (folded A canon) q w <-> runs A q w.
Proof.
  intros H; pose proof H as [_ [I _]]; induction w as [|[e L] w IH]; intros q; cbn; [tauto|]; split.
  - intros [p [J R]]; apply in_retarget in J; destruct J as [p' [J ->]]; exists p'; split; [exact J|].
    apply IH in R; revert R; apply (alike_runs A canon states w H); apply I.
  - intros [p [J R]]; exists (canon p); split; [apply in_retarget; eauto|]; apply IH.
    revert R; apply (alike_runs A canon states w H); symmetry; apply I.
Qed.

Theorem finitely_many_states A canon states : folds A canon states ->
  has_states (folded A canon) states /\ forall w, accepts (folded A canon) w <-> accepts A w.
Proof.
  intros H; pose proof H as [M [I _]]; split; [split|].
  - intros q J; cbn in J; apply in_map_iff in J; destruct J as [p [<- _]]; apply M.
  - intros q e L p J; cbn in J; apply in_retarget in J; destruct J as [p' [_ ->]]; apply M.
  - intros w; split; intros [q [J R]].
    + cbn in J; apply in_map_iff in J; destruct J as [p [<- J]]; exists p; split; [exact J|].
      apply (folded_runs A canon states w H) in R; revert R; apply (alike_runs A canon states w H); apply I.
    + exists (canon q); split; [cbn; apply in_map; exact J|]; apply (folded_runs A canon states w H).
      revert R; apply (alike_runs A canon states w H); symmetry; apply I.
Qed.

(* --- steps that are alike ------------------------------------------------------------------------------------------- *)

Lemma like_refl {T U} (f : T -> U) ts : like f ts ts. Proof. intros L p I; eauto. Qed.

Lemma like_app {T U} (f : T -> U) ts us ts' us' : like f ts us -> like f ts' us' -> like f (ts ++ ts') (us ++ us').
Proof.
  intros H K L p I; apply in_app_or in I; destruct I as [I|I]; [destruct (H L p I) as [q [J E]]|destruct (K L p I) as [q [J E]]];
    exists q; (split; [apply in_or_app; auto|exact E]).
Qed.

Lemma like_retarget {T U V W} (f : T -> U) (g : V -> W) (h : T -> V) ts us : (forall p q, f p = f q -> g (h p) = g (h q)) ->
  like f ts us -> like g (retarget h ts) (retarget h us).
Proof.
  intros E H L p I; apply in_retarget in I; destruct I as [p' [I ->]]; destruct (H L p' I) as [q [J K]].
  exists (h q); split; [apply in_retarget; eauto|auto].
Qed.

Lemma like_bridges {T U V W} (f : T -> U) (g : V -> W) fin to ts us : (forall p q, f p = f q -> fin p = fin q) ->
  like f ts us -> like g (bridges var fin to ts) (bridges var fin to us).
Proof.
  intros E H L p I; apply in_bridges in I; destruct I as [p' [I [F J]]]; destruct (H L p' I) as [q [K M]].
  exists p; split; [apply in_bridges; exists q; rewrite <- (E p' q M); auto|reflexivity].
Qed.

Lemma like_marked {T U} (f : T -> U) ts us : like f ts us -> like f (filter (is_marked var) ts) (filter (is_marked var) us).
Proof.
  intros H L p I; apply in_marked in I; destruct I as [I N]; destruct (H L p I) as [q [J E]]; exists q; rewrite in_marked; auto.
Qed.

(* --- the cases ------------------------------------------------------------------------------------------------------ *)

Lemma event_finite R : finite (event_cea event var var_dec type_of R).
Proof.
  exists (fun q => q), [true; false]; split; [intros [|]; cbn; auto|]; split; [auto|].
  intros p q ->; split; [reflexivity|]; intros e; apply like_refl.
Qed.

(** The same states, and steps that each come from a step. *)
Lemma remarked_finite f A : finite A -> finite (remarked event var f A).
Proof.
  intros [canon [states [M [I H]]]]; exists canon, states; split; [exact M|]; split; [exact I|].
  intros p q E; destruct (H p q E) as [F S]; split; [exact F|]; intros e L p' J; cbn in J; apply in_map_iff in J.
  destruct J as [[K r] [X J]]; injection X as <- <-; destruct (S e K r J) as [s [J' E']].
  exists s; split; [cbn; apply in_map_iff; exists (K, s); auto|exact E'].
Qed.

Lemma filter_finite X P A : finite A -> finite (filter_cea event var var_dec X P A).
Proof.
  intros [canon [states [M [I H]]]]; exists canon, states; split; [exact M|]; split; [exact I|].
  intros p q E; destruct (H p q E) as [F S]; split; [exact F|]; intros e L p' J; cbn in J; apply filter_In in J.
  destruct J as [J K]; destruct (S e L p' J) as [s [J' E']]; exists s; split; [cbn; apply filter_In; auto|exact E'].
Qed.

Definition on_sum {T U : Type} (f : T -> T) (g : U -> U) (x : T + U) : T + U :=
  match x with inl p => inl (f p) | inr q => inr (g q) end.

Lemma in_sum {T U} (f : T -> T) (g : U -> U) ts us x : (forall p, In (f p) ts) -> (forall q, In (g q) us) ->
  In (on_sum f g x) (map inl ts ++ map inr us).
Proof. intros H K; apply in_or_app; destruct x; [left|right]; cbn; apply in_map; auto. Qed.

Ltac alike_sum := intros [p|p] [q|q] E; inversion E.

Lemma union_finite A B : finite A -> finite B -> finite (union_cea event var A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]]; exists (on_sum f g), (map inl ts ++ map inr us); split; [|split].
  - intros x; apply in_sum; assumption.
  - intros [p|q]; cbn; f_equal; auto.
  - alike_sum; [destruct (HA p q) as [F S]|destruct (HB p q) as [F S]]; auto; (split; [exact F|]); intros e; cbn;
      (eapply like_retarget; [|apply S]); intros; cbn; f_equal; assumption.
Qed.

Lemma filtered_finite c : forall A, finite A -> finite (filtered event var var_dec c A).
Proof.
  induction c as [X P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; cbn; intros A H; [apply filter_finite, H|auto|apply union_finite; auto].
Qed.

Lemma sequence_finite A B : finite A -> finite B -> finite (sequence_cea event var A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]]; exists (on_sum f g), (map inl ts ++ map inr us); split; [|split].
  - intros x; apply in_sum; assumption.
  - intros [p|q]; cbn; f_equal; auto.
  - alike_sum; [destruct (HA p q) as [F S]|destruct (HB p q) as [F S]]; auto; (split; [first [reflexivity|exact F]|]); intros e; cbn.
    + apply like_app; [|apply (like_bridges f); [intros; apply HA; assumption|apply S]].
      eapply like_retarget; [|apply S]; intros; cbn; f_equal; assumption.
    + eapply like_retarget; [|apply S]; intros; cbn; f_equal; assumption.
Qed.

Lemma iterate_finite A : finite A -> finite (iterate_cea event var A).
Proof.
  intros [canon [states [M [I H]]]]; exists canon, states; split; [exact M|]; split; [exact I|].
  intros p q E; destruct (H p q E) as [F S]; split; [exact F|]; intros e; cbn.
  apply like_app; [apply S|apply (like_bridges canon); [intros; apply H; assumption|apply S]].
Qed.

Lemma contiguous_sequence_finite A B : finite A -> finite B -> finite (contiguous_sequence_cea event var A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]].
  exists (on_sum f (option_map g)), (map inl ts ++ map inr (None :: map Some us)); split; [|split].
  - intros x; apply in_sum; [exact MA|]; intros [q|]; [right; cbn; apply in_map, MB|left; reflexivity].
  - intros [p|[q|]]; cbn; rewrite ?IA, ?IB; reflexivity.
  - intros [p|[p|]] [q|[q|]] E; inversion E.
    + destruct (HA p q) as [F S]; auto; split; [reflexivity|]; intros e; cbn; apply like_app.
      * eapply like_retarget; [|apply S]; intros; cbn; f_equal; assumption.
      * apply (like_bridges f); [intros; apply HA; assumption|apply like_marked, S].
    + destruct (HB p q) as [F S]; auto; split; [exact F|]; intros e; cbn.
      eapply like_retarget; [|apply S]; intros p' q' K; cbn; rewrite K; reflexivity.
    + split; [reflexivity|]; intros e; apply like_refl.
Qed.

Lemma contiguous_iterate_finite A : finite A -> finite (contiguous_iterate_cea event var A).
Proof.
  intros [f [ts [M [I H]]]]; exists (option_map f), (None :: map Some ts); split; [|split].
  - intros [q|]; [right; cbn; apply in_map, M|left; reflexivity].
  - intros [q|]; cbn; rewrite ?I; reflexivity.
  - intros [p|] [q|] E; inversion E; [|split; [reflexivity|]; intros e; apply like_refl].
    destruct (H p q) as [F S]; auto; split; [exact F|]; intros e; cbn; apply like_app.
    + eapply like_retarget; [|apply S]; intros p' q' K; cbn; rewrite K; reflexivity.
    + apply (like_bridges f); [intros; apply H; assumption|apply like_marked, S].
Qed.

Lemma start_finite A : finite A -> finite (start_cea event var A).
Proof.
  intros [f [ts [M [I H]]]]; exists (option_map f), (None :: map Some ts); split; [|split].
  - intros [q|]; [right; cbn; apply in_map, M|left; reflexivity].
  - intros [q|]; cbn; rewrite ?I; reflexivity.
  - intros [p|] [q|] E; inversion E; [|split; [reflexivity|]; intros e; apply like_refl].
    destruct (H p q) as [F S]; auto; split; [exact F|]; intros e; cbn.
    eapply like_retarget; [|apply S]; intros p' q' K; cbn; rewrite K; reflexivity.
Qed.

Definition on_pair {T U : Type} (f : T -> T) (g : U -> U) (x : T * U) : T * U := (f (fst x), g (snd x)).

Lemma conjunction_finite A B : finite A -> finite B -> finite (conjunction_cea event var var_dec A B).
Proof.
  intros [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]]; exists (on_pair f g), (list_prod ts us); split; [|split].
  - intros [p q]; apply in_prod; auto.
  - intros [p q]; unfold on_pair; cbn; rewrite IA, IB; reflexivity.
  - intros [p r] [q s] E; injection E as E1 E2; destruct (HA p q E1) as [F S], (HB r s E2) as [F' S'].
    split; [cbn; congruence|]; intros e L x J; cbn in J; apply in_flat_map in J; destruct J as [[K p'] [J1 J2]].
    apply in_flat_map in J2; destruct J2 as [[N r'] [J2 J3]]; cbn in J3; destruct (same_marks var var_dec K N) eqn:X; [|destruct J3].
    destruct J3 as [J3|[]]; injection J3 as <- <-; destruct (S e K p' J1) as [q' [G1 G2]], (S' e N r' J2) as [s' [G3 G4]].
    exists (q', s'); split; [|unfold on_pair; cbn; congruence].
    cbn; apply in_flat_map; exists (K, q'); split; [exact G1|]; apply in_flat_map; exists (N, s'); split; [exact G3|].
    cbn; rewrite X; left; reflexivity.
Qed.

Arguments Wait {T}. Arguments At {T} q. Arguments Done {T}.

Definition on_resting {T : Type} (f : T -> T) (q : resting T) : resting T :=
  match q with Wait => Wait | At p => At (f p) | Done => Done end.

Lemma rest_like A f ts p q : folds A f ts -> on_resting f p = on_resting f q ->
  forall e, like (on_resting f) (rest_step event var A p e) (rest_step event var A q e).
Proof.
  intros [M [I H]] E e; destruct p as [|p|], q as [|q|]; inversion E; try apply like_refl.
  destruct (H p q) as [F S]; auto; cbn; rewrite F; apply like_app; [|apply like_refl].
  eapply like_retarget; [|apply S]; intros p' q' K; cbn; rewrite K; reflexivity.
Qed.

Lemma rest_ends A f ts p q : folds A f ts -> on_resting f p = on_resting f q ->
  ended event var A p = ended event var A q /\ ending event var A p = ending event var A q.
Proof. intros [M [I H]] E; destruct p as [|p|], q as [|q|]; inversion E; auto; destruct (H p q); auto. Qed.

Lemma interleaving_finite A B : finite A -> finite B -> finite (interleaving_cea event var A B).
Proof.
  intros [f [ts HA]] [g [us HB]]; pose proof HA as [MA [IA _]]; pose proof HB as [MB [IB _]].
  exists (on_pair (on_resting f) (on_resting g)), (list_prod (Wait :: Done :: map At ts) (Wait :: Done :: map At us)); split; [|split].
  - assert (R : forall T (h : T -> T) xs q, (forall q, In (h q) xs) -> In (on_resting h q) (Wait :: Done :: map At xs)).
    { intros T h xs [|q|] K; cbn; auto; right; right; apply in_map, K. }
    intros [p q]; apply in_prod; apply R; assumption.
  - assert (R : forall T (h : T -> T) q, (forall q, h (h q) = h q) -> on_resting h (on_resting h q) = on_resting h q).
    { intros T h [|q|] K; cbn; f_equal; auto. }
    intros [p q]; unfold on_pair; cbn; f_equal; apply R; assumption.
  - intros [p r] [q s] E; injection E as E1 E2.
    destruct (rest_ends A f ts p q HA E1) as [N1 N2], (rest_ends B g us r s HB E2) as [N3 N4]; split; [cbn; congruence|].
    intros e L x J; cbn in J; apply in_flat_map in J; destruct J as [[K p'] [J1 J2]]; apply in_map_iff in J2.
    destruct J2 as [[N r'] [J3 J2]]; cbn in J3; injection J3 as <- <-.
    destruct (rest_like A f ts p q HA E1 e K p' J1) as [q' [G1 G2]], (rest_like B g us r s HB E2 e N r' J2) as [s' [G3 G4]].
    exists (q', s'); split; [|unfold on_pair; cbn; congruence].
    cbn; apply in_flat_map; exists (K, q'); split; [exact G1|]; apply in_map_iff; exists (N, s'); auto.
Qed.

Lemma strict_finite A : finite A -> finite (strict_cea event var A).
Proof.
  intros [f [ts [M [I H]]]]; exists (on_pair f (fun phase => phase)), (list_prod ts [None; Some true; Some false]); split; [|split].
  - intros [p [[|]|]]; apply in_prod; cbn; auto.
  - intros [p phase]; unfold on_pair; cbn; rewrite I; reflexivity.
  - intros [p phase] [q phase'] E; injection E as E1 E2; cbn in E2; subst phase'; destruct (H p q E1) as [F S].
    split; [exact F|]; intros e L x J; cbn in J; apply in_flat_map in J; destruct J as [[K p'] [J1 J2]].
    apply in_map_iff in J2; destruct J2 as [ph [X J2]]; injection X as <- <-; destruct (S e K p' J1) as [q' [G1 G2]].
    exists (q', ph); split; [|unfold on_pair; cbn; congruence].
    cbn; apply in_flat_map; exists (K, q'); split; [exact G1|]; apply in_map_iff; exists ph; auto.
Qed.

(* --- sets of states ------------------------------------------------------------------------------------------------- *)

Section Sets.

Variable T : Type.
Variable T_dec : dec T.
Variable f : T -> T.
Variable ts : list T.
Variable in_ts : forall q, In (f q) ts.
Variable f_twice : forall q, f (f q) = f q.

(** The members, up to f, in the order of ts. *)
Definition gathered (R : list T) : list T := filter (fun q => if in_dec T_dec q (map f R) then true else false) ts.

Lemma in_gathered R q : In q (gathered R) <-> In q (map f R).
Proof.
  unfold gathered; rewrite filter_In; destruct (in_dec T_dec q (map f R)) as [I|N]; split; try tauto; [|intuition discriminate].
  intros _; split; [|reflexivity]; apply in_map_iff in I; destruct I as [p [<- _]]; apply in_ts.
Qed.

Lemma gathered_twice R : gathered (gathered R) = gathered R.
Proof.
  unfold gathered at 1 3; apply filter_ext; intros q.
  assert (H : In q (map f (gathered R)) <-> In q (map f R)).
  { rewrite in_map_iff; split.
    - intros [p [<- J]]; apply in_gathered in J; apply in_map_iff in J; destruct J as [r [<- J]]; rewrite f_twice; apply in_map, J.
    - intros J; exists q; split; [|apply in_gathered, J]; apply in_map_iff in J; destruct J as [r [<- _]]; apply f_twice. }
  destruct (in_dec T_dec q (map f (gathered R))), (in_dec T_dec q (map f R)); tauto.
Qed.

Lemma gathered_same R R' : gathered R = gathered R' -> forall p, In p R -> exists q, In q R' /\ f p = f q.
Proof.
  intros E p I; assert (J : In (f p) (gathered R')) by (rewrite <- E; apply in_gathered, in_map, I).
  apply in_gathered, in_map_iff in J; destruct J as [q [J K]]; eauto.
Qed.

Lemma same_gathered R R' : (forall p, In p R -> exists q, In q R' /\ f p = f q) -> (forall p, In p R' -> exists q, In q R /\ f p = f q) ->
  gathered R = gathered R'.
Proof.
  intros H K; unfold gathered; apply filter_ext; intros q.
  assert (X : In q (map f R) <-> In q (map f R')).
  { rewrite !in_map_iff; split; intros [p [<- I]]; [destruct (H p I) as [r [J E]]|destruct (K p I) as [r [J E]]]; exists r; auto. }
  destruct (in_dec T_dec q (map f R)), (in_dec T_dec q (map f R')); tauto.
Qed.

(** All sublists. *)
Fixpoint sublists (xs : list T) : list (list T) :=
  match xs with
  | [] => [[]]
  | x :: xs => sublists xs ++ map (cons x) (sublists xs)
  end.

Lemma in_sublists (keep : T -> bool) xs : In (filter keep xs) (sublists xs).
Proof. induction xs as [|x xs IH]; cbn; [auto|]; apply in_or_app; destruct (keep x); [right; apply in_map, IH|left; exact IH]. Qed.

Lemma sublists_length xs : length (sublists xs) = 2 ^ length xs.
Proof. induction xs as [|x xs IH]; cbn; [reflexivity|]; rewrite app_length, map_length, IH; lia. Qed.

Lemma existsb_same (P : T -> bool) R R' : (forall p q, f p = f q -> P p = P q) -> gathered R = gathered R' -> existsb P R = existsb P R'.
Proof.
  intros H E; apply eq_true_iff_eq; rewrite !existsb_exists; split; intros [p [I K]];
    [destruct (gathered_same R R' E p I) as [q [J X]]|destruct (gathered_same R' R (eq_sym E) p I) as [q [J X]]];
    exists q; (split; [exact J|rewrite <- (H p q X); exact K]).
Qed.

End Sets.

Lemma unless_finite A B : dec (Q B) -> finite A -> finite B -> finite (unless_cea event var A B).
Proof.
  intros D [f [ts [MA [IA HA]]]] [g [us [MB [IB HB]]]].
  set (G := gathered (Q B) D g us).
  exists (on_pair f (on_pair (fun found => found) G)), (list_prod ts (list_prod [true; false] (sublists (Q B) us))); split; [|split].
  - intros [p [found R]]; apply in_prod; [apply MA|]; apply in_prod; [destruct found; cbn; auto|apply in_sublists].
  - intros [p [found R]]; unfold on_pair; cbn; unfold G; rewrite IA, gathered_twice by assumption; reflexivity.
  - intros [p [found R]] [q [found' R']] E; unfold on_pair in E; injection E as E1 E2 E3; cbn in E1, E2, E3; subst found'.
    destruct (HA p q E1) as [F S]; split; [cbn; congruence|]; intros e; cbn.
    assert (N : forall X Y, G X = G Y -> forall r, In r (flat_map (fun s => map snd (step B s e)) (X ++ initial B)) ->
      exists s, In s (flat_map (fun s => map snd (step B s e)) (Y ++ initial B)) /\ g r = g s).
    { intros X Y EQ r I; apply in_flat_map in I; destruct I as [s [I J]]; apply in_map_iff in J; destruct J as [[L r'] [<- J]].
      assert (K : exists s', In s' (Y ++ initial B) /\ g s = g s').
      { apply in_app_or in I; destruct I as [I|I]; [|exists s; split; [apply in_or_app; auto|reflexivity]].
        destruct (gathered_same (Q B) D g us MB X Y EQ s I) as [s' [I' X']]; exists s'; split; [apply in_or_app; auto|exact X']. }
      destruct K as [s' [I' X']]; destruct (HB s s' X') as [_ SB]; destruct (SB e L r' J) as [q' [J' X'']].
      exists q'; split; [|exact X'']; apply in_flat_map; exists s'; split; [exact I'|]; apply in_map_iff; exists (L, q'); auto. }
    assert (NE : G (flat_map (fun s => map snd (step B s e)) (R ++ initial B)) = G (flat_map (fun s => map snd (step B s e)) (R' ++ initial B)))
      by (apply same_gathered; apply N; auto).
    assert (FE := existsb_same (Q B) D g us MB (final B) _ _ (fun p q X => proj1 (HB p q X)) NE).
    intros L x J; apply in_retarget in J; destruct J as [p' [J ->]]; destruct (S e L p' J) as [q' [J' X]].
    exists (q', guard_step event var B (found, R') e); split; [apply in_retarget; eauto|].
    unfold on_pair, guard_step; cbn; rewrite X, FE, NE; reflexivity.
Qed.

Lemma best_finite c A : dec (T c) -> dec (Q A) -> (exists xs : list (T c), forall t, In t xs) -> finite A -> finite (best_cea event var c A).
Proof.
  intros DT D [xs HX] [f [ts [M [I H]]]].
  assert (D' : dec (T c * Q A)) by (unfold dec in *; decide equality).
  set (g := on_pair (fun t : T c => t) f); set (us := list_prod xs ts).
  assert (MG : forall r, In (g r) us) by (intros [t q]; apply in_prod; auto).
  assert (IG : forall r, g (g r) = g r) by (intros [t q]; unfold g, on_pair; cbn; rewrite I; reflexivity).
  exists (on_pair f (gathered _ D' g us)), (list_prod ts (sublists _ us)); split; [|split].
  - intros [q R]; apply in_prod; [apply M|apply in_sublists].
  - intros [q R]; unfold on_pair; cbn; rewrite I, gathered_twice by assumption; reflexivity.
  - intros [p R] [q R'] E; unfold on_pair in E; injection E as E1 E2; cbn in E1, E2; destruct (H p q E1) as [F S]; split.
    + cbn; rewrite F; do 2 f_equal; apply (existsb_same _ D' g us MG); [|exact E2].
      intros [t r] [t' r'] X; unfold g, on_pair in X; cbn in X; injection X as -> X; cbn; destruct (H r r' X) as [-> _]; reflexivity.
    + intros e L x J; cbn in J; apply in_map_iff in J; destruct J as [[K p'] [X J]]; injection X as <- <-.
      destruct (S e K p' J) as [q' [J' E']].
      exists (q', rivals event var c A R' (is_marked var (K, q')) e); split; [cbn; apply in_map_iff; exists (K, q'); auto|].
      unfold on_pair; cbn; rewrite E'; f_equal; change (is_marked var (K, p')) with (is_marked var (K, q')).
      assert (N : forall X Y, gathered _ D' g us X = gathered _ D' g us Y -> forall m r, In r (rivals event var c A X m e) ->
        exists s, In s (rivals event var c A Y m e) /\ g r = g s).
      { intros X Y EQ m [k r] I1; apply in_flat_map in I1; destruct I1 as [[t s] [I1 I2]]; cbn in I2; apply in_flat_map in I2.
        destruct I2 as [[N r'] [I2 I3]]; cbn in I3; destruct (compare c t m (is_marked var (N, r'))) eqn:C; [|destruct I3].
        destruct I3 as [I3|[]]; injection I3 as -> ->.
        destruct (gathered_same _ D' g us MG X Y EQ (t, s) I1) as [[t' s'] [I1' X1]]; unfold g, on_pair in X1; cbn in X1; injection X1 as <- X1.
        destruct (H s s' X1) as [_ SS]; destruct (SS e N r I2) as [q'' [I2' X2]]; exists (k, q''); split.
        - apply in_flat_map; exists (t, s'); split; [exact I1'|]; apply in_flat_map; exists (N, q''); split; [exact I2'|]; cbn.
          change (is_marked var (N, q'')) with (is_marked var (N, r)); rewrite C; left; reflexivity.
        - unfold g, on_pair; cbn; rewrite X2; reflexivity. }
      apply same_gathered; apply N; auto.
Qed.

(* --- the theorem ---------------------------------------------------------------------------------------------------- *)

Lemma compile_finite phi : finite (compile phi).
Proof.
  induction phi; cbn [Compile.compile].
  - apply event_finite.
  - apply remarked_finite, IHphi.
  - apply filtered_finite, IHphi.
  - apply sequence_finite; assumption.
  - apply iterate_finite, IHphi.
  - apply contiguous_sequence_finite; assumption.
  - apply contiguous_iterate_finite, IHphi.
  - apply remarked_finite, IHphi.
  - apply start_finite, IHphi.
  - apply union_finite; assumption.
  - apply conjunction_finite; assumption.
  - apply interleaving_finite; assumption.
  - apply unless_finite; auto using compile_dec.
  - apply strict_finite, IHphi.
  - apply best_finite; auto using compile_dec; [intros p q; decide equality|exists [true; false]; intros [|]; cbn; auto].
  - apply best_finite; auto using compile_dec; [intros p q; decide equality|exists [true; false]; intros [|]; cbn; auto].
  - apply best_finite; auto using compile_dec; [intros p q; decide equality|exists [true; false]; intros [|]; cbn; auto].
Qed.

(** Theorem 6.2 with the finitely many states that Definition 5.1 asks for. *)
Theorem theorem_6_2_finite phi : exists A states, has_states A states /\ forall w, accepts A w <-> lang phi w.
Proof.
  destruct (compile_finite phi) as [canon [states H]]; exists (folded (compile phi) canon), states.
  destruct (finitely_many_states (compile phi) canon states H) as [M E]; split; [exact M|].
  intros w; rewrite (E w); apply theorem_6_2.
Qed.

(* --- determinized --------------------------------------------------------------------------------------------------- *)

Notation eqw := (eqw event var).
Notation io_deterministic := (io_deterministic event var).
Notation grouped := (grouped var var_dec).

Section Subsets.

Variable A : cea.
Variable A_dec : dec (Q A).
Variable states : list (Q A).
Variable A_states : has_states A states.

(** A set of states, written as a sublist of the list of all. *)
Definition ordered (T : list (Q A)) : list (Q A) := filter (fun q => if in_dec A_dec q T then true else false) states.

Lemma in_ordered T q : In q (ordered T) <-> In q states /\ In q T.
Proof. unfold ordered; rewrite filter_In; destruct (in_dec A_dec q T); intuition discriminate. Qed.

(** As `determinized`, where a set of states is one list only. *)
Definition subsets : cea := {|
  Compile.Q := list (Q A);
  Compile.initial := [ordered (initial A)];
  Compile.final := fun T => existsb (final A) T;
  Compile.step := fun T e => retarget ordered (grouped (flat_map (fun q => step A q e) T))
|}.

Lemma subsets_deterministic : io_deterministic subsets.
Proof.
  split; [intros p q [<-|[]] [<-|[]]; reflexivity|]; intros T e L M p q I J E.
  apply in_retarget in I, J; destruct I as [S [I ->]], J as [R [J ->]]; f_equal.
  exact (grouped_once var var_dec _ L M S R I J E).
Qed.

Lemma subsets_states : has_states subsets (sublists (Q A) states).
Proof.
  split; [intros T [<-|[]]; apply in_sublists|]; intros T e L S I; apply in_retarget in I; destruct I as [R [_ ->]]; apply in_sublists.
Qed.

Lemma subsets_runs w : forall T, runs subsets T w -> exists u q, eqw w u /\ In q T /\ runs A q u.
Proof.
  induction w as [|[e L] w IH]; intros T.
  - cbn; intros F; apply existsb_exists in F; destruct F as [q [I F]]; exists [], q; repeat split; auto; constructor.
  - intros [S [I R]]; cbn in I; apply in_retarget in I; destruct I as [S' [I ->]]; apply IH in R; destruct R as [u [q [E [J R]]]].
    apply in_ordered in J; destruct (grouped_sound var var_dec _ _ _ _ I (proj2 J)) as [M [H K]].
    apply in_flat_map in K; destruct K as [p [P K]].
    exists ((e, M) :: u), p; split; [constructor; [split; auto|exact E]|]; split; [exact P|]; cbn; eauto.
Qed.

Lemma runs_subsets u : forall q T, In q T -> runs A q u -> exists w, eqw w u /\ runs subsets T w.
Proof.
  induction u as [|[e M] u IH]; intros q T I R.
  - exists []; split; [constructor|]; cbn; apply existsb_exists; exists q; auto.
  - destruct R as [p [J R]].
    destruct (grouped_complete var var_dec (flat_map (fun q => step A q e) T) M p) as [L [S [K [E H]]]]; [apply in_flat_map; eauto|].
    destruct (IH p (ordered S)) as [w [W D]]; [apply in_ordered; split; [eapply A_states, J|exact H]|exact R|].
    exists ((e, L) :: w); split; [constructor; [split; auto|exact W]|].
    exists (ordered S); split; [apply in_retarget; eauto|exact D].
Qed.

(** Proposition 5.5 with finitely many states: of n states, 2 ^ n sets. *)
Theorem proposition_5_5_finite : io_deterministic subsets /\
  has_states subsets (sublists (Q A) states) /\ length (sublists (Q A) states) = 2 ^ length states /\
  (forall w, accepts subsets w -> exists u, eqw w u /\ accepts A u) /\
  (forall u, accepts A u -> exists w, eqw w u /\ accepts subsets w).
Proof.
  split; [apply subsets_deterministic|]; split; [apply subsets_states|]; split; [apply sublists_length|]; split.
  - intros w [T [[<-|[]] R]]; apply subsets_runs in R; destruct R as [u [q [E [I R]]]]; apply in_ordered in I.
    exists u; split; [exact E|exists q; tauto].
  - intros u [q [I R]]; destruct (runs_subsets u q (ordered (initial A))) as [w [E D]]; [apply in_ordered; split; [apply A_states|]; exact I|exact R|].
    exists w; split; [exact E|]; exists (ordered (initial A)); split; [left; reflexivity|exact D].
Qed.

End Subsets.

(** So for every formula there is an I/O-deterministic automaton of finitely many states. *)
Theorem deterministic_finite phi : exists A states, io_deterministic A /\ has_states A states /\
  (forall w, accepts A w -> exists u, eqw w u /\ lang phi u) /\
  (forall u, lang phi u -> exists w, eqw w u /\ accepts A w).
Proof.
  destruct (compile_finite phi) as [canon [states H]]; destruct (finitely_many_states (compile phi) canon states H) as [M E].
  destruct (proposition_5_5_finite (folded (compile phi) canon) (compile_dec event var var_dec type_of phi) states M) as [D [F [_ [U V]]]].
  exists (subsets (folded (compile phi) canon) (compile_dec event var var_dec type_of phi) states), (sublists (Q (compile phi)) states).
  split; [exact D|]; split; [exact F|]; split.
  - intros w W; destruct (U w W) as [u [X Y]]; exists u; split; [exact X|]; apply theorem_6_2, E, Y.
  - intros u W; apply V, E, theorem_6_2, W.
Qed.

End Finite.
