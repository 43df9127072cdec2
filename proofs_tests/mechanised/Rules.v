(** When two formulas mean the same, the clauses of Figure 3 as operations on meanings, and the tactics of Laws.v. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62 Bridge Algebra Distribute.

Section Rules.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Load Names.
Notation occurs_in := (occurs_in var).

(** The same valuations on every stream, or at least the same complex events. *)
Definition equal (phi psi : formula) : Prop := forall S, equ (meaning S phi) (meaning S psi).
Definition matches S (phi : formula) i j (C : nat -> Prop) : Prop := exists mu, meaning S phi i j mu /\ agree (sup mu) C.
Definition equal_events (phi psi : formula) : Prop := forall S i j C, matches S phi i j C <-> matches S psi i j C.

(** What a law may ask of a formula: that each of its matches has an event, that it never binds a variable. *)
Definition always_binds (phi : formula) : Prop := forall S, binding var (meaning S phi).
Definition never_binds (phi : formula) (A : var) : Prop := forall S i j mu p, meaning S phi i j mu -> ~ mu A p.

Definition cond (S : nat -> event) (c : condition event var) : property var := fun _ _ mu => satisfies event var S mu c.

(* --- the clauses ---------------------------------------------------------------------------------------------------- *)

Section Clauses.

Variable S : nat -> event.
Variables phi psi : formula.
Variable A : var.

Lemma in_clause : meaning S (In_ _ _ phi A) = mapped (bound_as A) (meaning S phi). Proof. reflexivity. Qed.
Lemma project_clause L : meaning S (Project _ _ L phi) = mapped (only L) (meaning S phi). Proof. reflexivity. Qed.
Lemma every_clause P : meaning S (Filter _ _ phi (Every _ _ A P)) = restricted (every event var S A P) (meaning S phi). Proof. reflexivity. Qed.
Lemma filter_and_clause c1 c2 : meaning S (Filter _ _ phi (Conjunction _ _ c1 c2)) = restricted (fun i j mu => cond S c1 i j mu /\ cond S c2 i j mu) (meaning S phi).
Proof. reflexivity. Qed.
Lemma filter_or_clause c1 c2 : meaning S (Filter _ _ phi (Disjunction _ _ c1 c2)) = restricted (fun i j mu => cond S c1 i j mu \/ cond S c2 i j mu) (meaning S phi).
Proof. reflexivity. Qed.
Lemma seq_clause : meaning S (Seq _ _ phi psi) = sequenced (meaning S phi) (meaning S psi). Proof. reflexivity. Qed.
Lemma plus_clause : meaning S (Plus _ _ phi) = iterated sequenced (meaning S phi). Proof. reflexivity. Qed.
Lemma contiguous_seq_clause : meaning S (ContiguousSeq _ _ phi psi) = contiguous (meaning S phi) (meaning S psi). Proof. reflexivity. Qed.
Lemma contiguous_plus_clause : meaning S (ContiguousPlus _ _ phi) = iterated contiguous (meaning S phi). Proof. reflexivity. Qed.
Lemma start_clause : meaning S (Start _ _ phi) = restricted (at_first var) (meaning S phi). Proof. reflexivity. Qed.
Lemma or_clause : meaning S (Or _ _ phi psi) = either (meaning S phi) (meaning S psi). Proof. reflexivity. Qed.
Lemma and_clause : meaning S (And _ _ phi psi) = restricted (meaning S psi) (meaning S phi). Proof. reflexivity. Qed.
Lemma all_clause : meaning S (All _ _ phi psi) = interleaved (meaning S phi) (meaning S psi). Proof. reflexivity. Qed.
Lemma unless_clause : meaning S (Unless _ _ phi psi) = restricted (clear (meaning S psi)) (meaning S phi). Proof. reflexivity. Qed.
Lemma strict_clause : meaning S (Strict _ _ phi) = restricted (is_unbroken var) (meaning S phi). Proof. reflexivity. Qed.

End Clauses.

(* --- more rules ----------------------------------------------------------------------------------------------------- *)

#[export] Instance sequenced_equ : Proper (equ ==> equ ==> equ) sequenced.
Proof. apply join_equ, sequenced_joining. Qed.
#[export] Instance contiguous_equ : Proper (equ ==> equ ==> equ) contiguous.
Proof. apply join_equ, contiguous_joining. Qed.
#[export] Instance plus_equ : Proper (equ ==> equ) (iterated sequenced).
Proof. intros D E H; apply iter_equ; [apply sequenced_joining|exact H]. Qed.
#[export] Instance contiguous_plus_equ : Proper (equ ==> equ) (iterated contiguous).
Proof. intros D E H; apply iter_equ; [apply contiguous_joining|exact H]. Qed.
#[export] Instance either_proper : Proper (equ ==> equ ==> equ) either.
Proof. apply either_equ. Qed.
#[export] Instance both_proper : Proper (equ ==> equ ==> equ) restricted.
Proof. intros D D' H E E' K i j mu; unfold Algebra.restricted; rewrite (H i j mu), (K i j mu); tauto. Qed.
#[export] Instance mapped_proper f : Proper (equ ==> equ) (mapped f).
Proof. intros D E H; apply map_equ, H. Qed.
#[export] Instance interleaved_proper : Proper (equ ==> equ ==> equ) interleaved.
Proof.
  intros D D' H E E' K i j mu; unfold Algebra.interleaved; split; intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]];
    exists i1, j1, i2, j2, mu1, mu2; repeat (split; [first [assumption | apply H; assumption | apply K; assumption]|]); exact M.
Qed.
#[export] Instance clear_proper : Proper (equ ==> equ) clear.
Proof. intros D E H i j mu; unfold Algebra.clear; split; intros K i' j' nu L1 L2 L3 N; apply H in N; eapply K; eauto. Qed.

Lemma or_left D E : sub E D -> equ (either D E) D. Proof. intros H i j mu; unfold Algebra.either; firstorder. Qed.
Lemma or_right D E : sub D E -> equ (either D E) E. Proof. intros H i j mu; unfold Algebra.either; firstorder. Qed.
Lemma and_left D E : sub D E -> equ (restricted E D) D. Proof. intros H i j mu; unfold Algebra.restricted; firstorder. Qed.
Lemma and_right D E : sub E D -> equ (restricted E D) E. Proof. intros H i j mu; unfold Algebra.restricted; firstorder. Qed.

Lemma contiguous_plus_below D : sub (iterated contiguous D) (iterated sequenced D).
Proof.
  intros i j mu [n K]; exists n; revert i j mu K; induction n as [|n IH]; cbn; [intros i j mu K; exact K|].
  eapply sub_trans; [apply contiguous_sequenced|apply (join_mono var _ (sequenced_joining var)); [apply sub_refl|exact IH]].
Qed.

Lemma plus_of_contiguous_plus D : good D -> equ (iterated sequenced (iterated contiguous D)) (iterated sequenced D).
Proof.
  intros G; apply equ_sub.
  - apply iter_least; [apply sequenced_joining|apply contiguous_plus_below|apply iter_closed; [apply sequenced_joining|exact G]].
  - apply iter_mono; [apply sequenced_joining|apply iter_has].
Qed.

Lemma contiguous_plus_of_plus D : good D -> equ (iterated contiguous (iterated sequenced D)) (iterated sequenced D).
Proof.
  intros G; apply equ_sub; [|apply iter_has]; apply iter_least; [apply contiguous_joining|apply sub_refl|].
  eapply sub_trans; [apply contiguous_sequenced|apply iter_closed; [apply sequenced_joining|exact G]].
Qed.

Lemma sub_or_l D E : sub D (either D E). Proof. intros i j mu; left; assumption. Qed.
Lemma sub_or_r D E : sub E (either D E). Proof. intros i j mu; right; assumption. Qed.

Lemma rounds_of_either D E : equ (iterated sequenced (either D E))
  (either (either (iterated sequenced D) (iterated sequenced E)) (iterated sequenced (either D E))).
Proof.
  symmetry; apply or_right; apply either_sub; apply iter_mono; auto using sequenced_joining, sub_or_l, sub_or_r.
Qed.

Lemma all_above_itself D : good D -> sub D (interleaved D D).
Proof. intros G i j mu K; apply (interleaved_same var D D G); split; exact K. Qed.

Lemma all_above_turned D E : good D -> good E -> sub (sequenced E D) (interleaved D E).
Proof. intros G G' i j mu K; apply interleaved_comm, interleaved_sequenced; assumption. Qed.

Lemma map_or f D E : equ (mapped f (either D E)) (either (mapped f D) (mapped f E)).
Proof. intros i j mu; unfold Algebra.mapped, Algebra.either; firstorder. Qed.

Lemma map_clear f F D : equ (mapped f (restricted (clear F) D)) (restricted (clear F) (mapped f D)).
Proof. symmetry; apply map_restrict; intros i j mu nu _ _; unfold Algebra.clear; tauto. Qed.

Lemma clear_either E F i j mu : clear (either E F) i j mu <-> clear E i j mu /\ clear F i j mu.
Proof.
  unfold Algebra.clear, Algebra.either; split.
  - intros H; split; intros i' j' nu L1 L2 L3 K; apply (H i' j' nu); auto.
  - intros [H1 H2] i' j' nu L1 L2 L3 [K|K]; [apply (H1 i' j' nu)|apply (H2 i' j' nu)]; auto.
Qed.

Lemma unless_either D E F : equ (restricted (clear (either E F)) D) (restricted (clear F) (restricted (clear E) D)).
Proof. intros i j mu; unfold Algebra.restricted; rewrite clear_either; tauto. Qed.

Lemma nothing_included D E : good D -> equ (restricted (clear (either D E)) D) (restricted (clear D) D).
Proof.
  intros G; rewrite unless_either, nothing_inside by exact G; intros i j mu; unfold Algebra.restricted; tauto.
Qed.

Lemma unless_nothing D E : good E -> equ (restricted (clear (restricted (clear E) E)) D) D.
Proof.
  intros G; apply and_left; intros i j mu _ i' j' nu _ _ _ K; apply (nothing_inside var E G) in K; exact K.
Qed.

Lemma occurs_in_sequence D E : good D -> occurs_in D (sequenced D E).
Proof.
  intros G i j mu [k [mu1 [mu2 [L [K _]]]]]; exists i, k, mu1; pose proof (good_order var D G i k mu1 K); repeat (split; [lia|]); exact K.
Qed.

Lemma unless_adds D E F : occurs_in E F -> sub (restricted (clear E) D) (restricted (clear F) D).
Proof. intros O i j mu [K H]; split; [exact K|eapply clear_occurs; eauto]. Qed.

Lemma guard_inside D E F : good D -> good E ->
  equ (restricted (clear F) (sequenced (restricted (clear F) D) (restricted (clear F) E))) (restricted (clear F) (sequenced D E)).
Proof.
  intros G G' i j mu; unfold Algebra.restricted; split.
  - intros [[k [mu1 [mu2 [L [[K1 _] [[K2 _] M]]]]]] H]; split; [exists k, mu1, mu2; auto|exact H].
  - intros [[k [mu1 [mu2 [L [K1 [K2 M]]]]]] H]; split; [|exact H]; exists k, mu1, mu2.
    assert (H1 : clear F i k mu1) by (intros a b nu L1 L2 L3; apply H; lia).
    assert (H2 : clear F (k + 1) j mu2) by (intros a b nu L1 L2 L3; apply H; lia); auto.
Qed.

Lemma map_comm f g D : (forall mu nu, same mu nu -> same (f mu) (f nu)) -> (forall mu nu, same mu nu -> same (g mu) (g nu)) ->
  (forall mu, same (f (g mu)) (g (f mu))) -> equ (mapped f (mapped g D)) (mapped g (mapped f D)).
Proof. intros F G H; rewrite (map_map var f g (fun mu => g (f mu)) D), (map_map var g f (fun mu => g (f mu)) D); auto; reflexivity. Qed.

Lemma bound_as_same A mu nu : same mu nu -> same (bound_as A mu) (bound_as A nu).
Proof. apply (map_same var _ (bound_as_homomorphism var A)). Qed.
Lemma only_same L mu nu : same mu nu -> same (only L mu) (only L nu).
Proof. apply (map_same var _ (only_homomorphism var L)). Qed.

Lemma bound_twice A D : equ (mapped (bound_as A) (mapped (bound_as A) D)) (mapped (bound_as A) D).
Proof.
  apply map_map; [apply bound_as_same|]; intros mu B p; unfold Algebra.bound_as at 1; rewrite (bound_as_support var A mu p).
  unfold Algebra.bound_as; tauto.
Qed.

Lemma bound_both A B D : equ (mapped (bound_as A) (mapped (bound_as B) D)) (mapped (bound_as B) (mapped (bound_as A) D)).
Proof.
  apply map_comm; auto using bound_as_same; intros mu V p; unfold Algebra.bound_as at 1 3.
  rewrite (bound_as_support var A mu p), (bound_as_support var B mu p); unfold Algebra.bound_as.
  destruct (var_dec V A), (var_dec V B); subst; tauto.
Qed.

(** What a map that keeps supports does not change. *)
Lemma map_keeps_events f phi psi : keeps_support var f ->
  (forall S, equ (meaning S phi) (mapped f (meaning S psi))) -> equal_events phi psi.
Proof.
  intros F H S i j C; unfold matches; split.
  - intros [mu [K M]]; apply H in K; destruct K as [nu [K N]]; exists nu; split; [exact K|].
    intros p; rewrite <- (M p), <- (F nu p); symmetry; apply (sup_proper var _ _ N p p eq_refl).
  - intros [mu [K M]]; exists (f mu); split; [apply H; exists mu; split; [exact K|reflexivity]|].
    intros p; rewrite (F mu p); apply M.
Qed.

Lemma filter_again S X P D : equ (restricted (every event var S X P) (mapped (bound_as X) (restricted (every event var S X P) D)))
  (restricted (every event var S X P) (mapped (bound_as X) D)).
Proof.
  intros i j mu; unfold Algebra.restricted, Algebra.mapped; split.
  - intros [[nu [[K _] M]] H]; split; [exists nu; auto|exact H].
  - intros [[nu [K M]] H]; split; [|exact H]; exists nu; split; [|exact M]; split; [exact K|].
    intros p L; apply H, M; right; split; [reflexivity|exists X; exact L].
Qed.

Lemma map_filter S f X P D : (forall mu p, f mu X p <-> mu X p) ->
  equ (restricted (every event var S X P) (mapped f D)) (mapped f (restricted (every event var S X P) D)).
Proof.
  intros H; apply map_restrict; intros i j mu nu _ M; unfold every; split; intros K p L; apply K.
  - apply M, H, L.
  - apply (H nu p), M, L.
Qed.

Lemma map_start f D : keeps_support var f -> equ (mapped f (restricted (at_first var) D)) (restricted (at_first var) (mapped f D)).
Proof.
  intros F; symmetry; apply map_restrict; intros i j mu nu _ M; unfold at_first.
  rewrite (first_proper var _ _ M i i eq_refl); apply first_kept, F.
Qed.

Lemma map_strict f D : keeps_support var f -> equ (mapped f (restricted (is_unbroken var) D)) (restricted (is_unbroken var) (mapped f D)).
Proof.
  intros F; symmetry; apply map_restrict; intros i j mu nu _ M; unfold is_unbroken, unbroken.
  assert (H : forall p, sup mu p <-> sup nu p) by (intros p; rewrite (sup_proper var _ _ M p p eq_refl); apply F).
  setoid_rewrite H; tauto.
Qed.

Lemma every_union S X P mu nu xi : same mu (union nu xi) ->
  satisfies event var S mu (Every _ _ X P) <-> satisfies event var S nu (Every _ _ X P) /\ satisfies event var S xi (Every _ _ X P).
Proof.
  intros M; cbn; split; [intros H; split; intros p K; apply H, M; [left|right]; exact K|].
  intros [H1 H2] p K; apply M in K; destruct K; auto.
Qed.

Lemma iter_twice join D : joining var join -> good D -> Proper (equ ==> equ ==> equ) join ->
  equ (iterated join D) (either (either D (join D D)) (join (join D D) (iterated join D))).
Proof.
  intros J G PJ.
  assert (H : equ (join D (iterated join D)) (either (join D D) (join D (join D (iterated join D))))).
  { rewrite <- (join_or_r var join J); apply PJ; [reflexivity|apply iter_left, J]. }
  intros i j mu; rewrite (iter_left var join J D i j mu); unfold Algebra.either at 1; rewrite (H i j mu).
  unfold Algebra.either; rewrite (join_assoc var join J D D (iterated join D) G G (iter_good var join J D G) i j mu); tauto.
Qed.

Lemma plus_twice D : good D -> equ (iterated sequenced D) (either (either D (sequenced D D)) (sequenced (sequenced D D) (iterated sequenced D))).
Proof. intros G; apply iter_twice; [apply sequenced_joining|exact G|apply sequenced_equ]. Qed.

Lemma either_sub D E F : sub D F -> sub E F -> sub (either D E) F.
Proof. intros H K i j mu [L|L]; auto. Qed.

Lemma rounds_or_rounds D : equ (either (either D (sequenced D D)) (sequenced D (either D (sequenced D D))))
  (either D (sequenced D (either D (sequenced D D)))).
Proof.
  intros i j mu; unfold Algebra.either at 1 2 4; rewrite (join_or_r var _ (sequenced_joining var) D D (sequenced D D) i j mu).
  unfold Algebra.either; tauto.
Qed.

Lemma two_of_two D : good D -> equ (sequenced (sequenced D D) (sequenced D D)) (sequenced (sequenced D (sequenced D D)) D).
Proof.
  intros G; pose proof (sequenced_joining var) as J; assert (G2 : good (sequenced D D)) by (apply (join_good var _ J); exact G).
  rewrite (join_assoc var _ J D D (sequenced D D)), (join_assoc var _ J D (sequenced D D) D), (join_assoc var _ J D D D) by assumption.
  reflexivity.
Qed.

Lemma contiguous_rounds_below D : sub (either D (contiguous D D)) (either D (sequenced D D)).
Proof. apply either_sub; [apply sub_or_l|eapply sub_trans; [apply contiguous_sequenced|apply sub_or_r]]. Qed.

(** What is made of nothing. *)
Definition nothing : meanings := fun _ _ _ => False.

Lemma nothing_unless D : good D -> equ (restricted (clear D) D) nothing.
Proof. apply nothing_inside. Qed.

Lemma or_nothing D : equ (either nothing D) D. Proof. intros i j mu; unfold Algebra.either, nothing; tauto. Qed.
Lemma sequenced_nothing D : equ (sequenced nothing D) nothing.
Proof. intros i j mu; split; [intros [k [mu1 [mu2 [_ [[] _]]]]]|intros []]. Qed.
Lemma contiguous_nothing D : equ (contiguous D nothing) nothing.
Proof. intros i j mu; split; [intros [k [mu1 [mu2 [_ [_ [[] _]]]]]]|intros []]. Qed.
Lemma interleaved_nothing D : equ (interleaved nothing D) nothing.
Proof. intros i j mu; split; [intros [a [b [c [d [mu1 [mu2 [_ [_ [_ [_ [[] _]]]]]]]]]]]|intros []]. Qed.
Lemma plus_nothing : equ (iterated sequenced nothing) nothing.
Proof. intros i j mu; split; [intros [[|n] K]; [exact K|destruct K as [k [mu1 [mu2 [_ [[] _]]]]]]|intros []]. Qed.

Lemma unless_plus join D E : joining var join -> good E -> equ (restricted (clear (iterated join E)) D) (restricted (clear E) D).
Proof. intros J G; apply unless_same; [apply occurs_iter; assumption|apply occurs_sub; [exact G|apply iter_has]]. Qed.

Lemma unless_mapped f D E : good E -> equ (restricted (clear (mapped f E)) D) (restricted (clear E) D).
Proof. intros G; apply unless_same; [apply occurs_mapped|apply mapped_occurs]; exact G. Qed.

Lemma unless_or D E F : equ (restricted (clear (either E F)) D) (restricted (restricted (clear F) D) (restricted (clear E) D)).
Proof. intros i j mu; unfold Algebra.restricted; rewrite clear_either; tauto. Qed.

(** Maps that do the same with all valuations of a meaning; that do nothing. *)
Lemma map_pointwise f g (D : meanings) : (forall i j mu, D i j mu -> same (f mu) (g mu)) -> equ (mapped f D) (mapped g D).
Proof. intros H i j mu; split; intros [nu [K M]]; exists nu; (split; [exact K|]); rewrite M; [apply (H i j)|symmetry; apply (H i j)]; exact K. Qed.

Lemma map_nothing f D : good D -> (forall i j mu, D i j mu -> same (f mu) mu) -> equ (mapped f D) D.
Proof.
  intros G H i j mu; split.
  - intros [nu [K M]]; eapply (good_same var D G); [|exact K]; rewrite M; symmetry; apply (H i j nu K).
  - intros K; exists mu; split; [exact K|symmetry; apply (H i j mu K)].
Qed.

Lemma event_bound_as S A i j mu : meaning S (Event event var A) i j mu -> same (bound_as A mu) mu.
Proof.
  intros [_ [_ M]] B p; unfold Algebra.bound_as, Cel.sup; setoid_rewrite (M B p); split.
  - intros [[_ H]|[-> [C K]]]; [exact H|]; apply M in K; tauto.
  - intros [-> ->]; right; split; [reflexivity|]; exists A; apply M; auto.
Qed.

Lemma event_only S A i j mu : meaning S (Event event var A) i j mu -> same (only [A] mu) mu.
Proof. intros [_ [_ M]] B p; unfold Algebra.only; cbn; rewrite (M B p); split; [tauto|]; intros [-> ->]; auto. Qed.

Lemma event_unbroken S A i j mu : meaning S (Event event var A) i j mu -> unbroken var mu.
Proof. intros [_ [_ M]] p q r [B K] [C L] N; apply M in K, L; lia. Qed.

Lemma alike_in_both S A B : A <> B -> equ (restricted (meaning S (Event event var B)) (meaning S (Event event var A))) nothing.
Proof. intros N i j mu; split; [intros [[_ [K _]] [_ [L _]]]; congruence|intros []]. Qed.

Lemma only_only L M K D : (forall A, In A K <-> In A L /\ In A M) -> equ (mapped (only L) (mapped (only M) D)) (mapped (only K) D).
Proof.
  intros H; apply map_map; [apply only_same|]; intros mu A p; unfold Algebra.only; rewrite (H A); tauto.
Qed.

Lemma only_after_bound A X D : A <> X -> equ (mapped (only [A]) (mapped (bound_as X) D)) (mapped (only [A]) D).
Proof.
  intros N; apply map_map; [apply only_same|]; intros mu B p; unfold Algebra.only, Algebra.bound_as; cbn; split.
  - intros [[<-|[]] [[_ H]|[E _]]]; [auto|congruence].
  - intros [[<-|[]] H]; auto.
Qed.

Lemma only_what_is_bound X phi : equal_events (Project _ _ [X] (In_ _ _ phi X)) phi.
Proof.
  apply (map_keeps_events (fun mu => only [X] (bound_as X mu))).
  - intros mu p; unfold Cel.sup at 1, Algebra.only; split.
    + intros [A [[<-|[]] [[N _]|[_ K]]]]; [congruence|exact K].
    + intros K; exists X; split; [left; reflexivity|right; auto].
  - intros S; rewrite project_clause, in_clause; apply map_map; [apply only_same|reflexivity].
Qed.

End Rules.
