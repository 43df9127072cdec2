(** The disjunctive normal form of equivalence/rewrite/normal_forms.py: it has the same valuations, and no OR
    but inside iterations and strategies. Left out is what the program does beside: it removes disjuncts that came twice,
    and it stops where the form would be too large. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Tactics.

Section Disjunctive.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Notation formula := (formula event var).
Notation condition := (condition event var).
Notation meaning := (meaning event var type_of).
Notation equ := (equ var).
Notation equal := (equal event var type_of).
Notation either := (either var).
Notation restricted := (restricted var).

(** The union of formulas; a list of disjuncts is never empty. *)
Fixpoint union_of (d : formula) (ds : list formula) : formula :=
  match ds with
  | [] => d
  | e :: ds => union_of (Or _ _ d e) ds
  end.

Definition or_of (default : formula) (ds : list formula) : formula :=
  match ds with
  | [] => default
  | d :: ds => union_of d ds
  end.

(** The AND and OR of a filter as what they are short for (section 4). *)
Fixpoint filtered (c : condition) (ds : list formula) : list formula :=
  match c with
  | Every _ _ _ _ => map (fun d => Filter _ _ d c) ds
  | Conjunction _ _ c1 c2 => filtered c2 (filtered c1 ds)
  | Disjunction _ _ c1 c2 => filtered c1 ds ++ filtered c2 ds
  end.

(** phi UNLESS (d1 OR d2 OR ...) is ((phi UNLESS d1) UNLESS d2) ... *)
Definition unless (phi : formula) (ds : list formula) : formula := fold_left (fun psi d => Unless _ _ psi d) ds phi.

Definition pairs (f : formula -> formula -> formula) (ds es : list formula) : list formula :=
  flat_map (fun d => map (f d) es) ds.

(** Formulas without OR, but for that inside iterations and strategies, whose union phi is. *)
Fixpoint disjuncts (phi : formula) : list formula :=
  match phi with
  | Event _ _ R => [phi]
  | Or _ _ phi1 phi2 => disjuncts phi1 ++ disjuncts phi2
  | Filter _ _ psi c => filtered c (disjuncts psi)
  | In_ _ _ psi A => map (fun d => In_ _ _ d A) (disjuncts psi)
  | Project _ _ L psi => map (Project _ _ L) (disjuncts psi)
  | Start _ _ psi => map (Start _ _) (disjuncts psi)
  | Strict _ _ psi => map (Strict _ _) (disjuncts psi)
  | Seq _ _ phi1 phi2 => pairs (Seq _ _) (disjuncts phi1) (disjuncts phi2)
  | ContiguousSeq _ _ phi1 phi2 => pairs (ContiguousSeq _ _) (disjuncts phi1) (disjuncts phi2)
  | And _ _ phi1 phi2 => pairs (And _ _) (disjuncts phi1) (disjuncts phi2)
  | All _ _ phi1 phi2 => pairs (All _ _) (disjuncts phi1) (disjuncts phi2)
  | Unless _ _ phi1 phi2 => map (fun d => unless d (disjuncts phi2)) (disjuncts phi1)
  | Plus _ _ psi => [Plus _ _ (or_of psi (disjuncts psi))]
  | ContiguousPlus _ _ psi => [ContiguousPlus _ _ (or_of psi (disjuncts psi))]
  | Next _ _ psi => [Next _ _ (or_of psi (disjuncts psi))]
  | Last _ _ psi => [Last _ _ (or_of psi (disjuncts psi))]
  | Max _ _ psi => [Max _ _ (or_of psi (disjuncts psi))]
  end.

Definition disjunctive (phi : formula) : formula := or_of phi (disjuncts phi).

(* --- no OR ---------------------------------------------------------------------------------------------------------- *)

(** No OR but inside iterations and strategies; conditions are atoms. *)
Fixpoint conjunctive (phi : formula) : bool :=
  match phi with
  | Or _ _ _ _ => false
  | Event _ _ _ | Plus _ _ _ | ContiguousPlus _ _ _ | Next _ _ _ | Last _ _ _ | Max _ _ _ => true
  | Filter _ _ psi (Every _ _ _ _) => conjunctive psi
  | Filter _ _ _ _ => false
  | In_ _ _ psi _ | Project _ _ _ psi | Start _ _ psi | Strict _ _ psi => conjunctive psi
  | Seq _ _ phi1 phi2 | ContiguousSeq _ _ phi1 phi2 | And _ _ phi1 phi2 | All _ _ phi1 phi2
  | Unless _ _ phi1 phi2 => conjunctive phi1 && conjunctive phi2
  end.

Notation all_conjunctive := (forallb conjunctive).

Lemma map_conjunctive f ds : (forall d, conjunctive d = true -> conjunctive (f d) = true) ->
  all_conjunctive ds = true -> all_conjunctive (map f ds) = true.
Proof. rewrite !forallb_forall; intros H K x I; apply in_map_iff in I; destruct I as [d [<- I]]; auto. Qed.

Lemma pairs_conjunctive f ds es : (forall d e, conjunctive d = true -> conjunctive e = true -> conjunctive (f d e) = true) ->
  all_conjunctive ds = true -> all_conjunctive es = true -> all_conjunctive (pairs f ds es) = true.
Proof.
  rewrite !forallb_forall; intros H K L x I; apply in_flat_map in I; destruct I as [d [I J]].
  apply in_map_iff in J; destruct J as [e [<- J]]; auto.
Qed.

Lemma filtered_conjunctive c : forall ds, all_conjunctive ds = true -> all_conjunctive (filtered c ds) = true.
Proof.
  induction c as [A P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; intros ds K; cbn [filtered].
  - apply map_conjunctive; [auto|exact K].
  - auto.
  - rewrite forallb_app, IH1, IH2; auto.
Qed.

Lemma unless_conjunctive es : forall d, conjunctive d = true -> all_conjunctive es = true -> conjunctive (unless d es) = true.
Proof.
  induction es as [|e es IH]; cbn; intros d H K; [exact H|]; apply andb_prop in K; destruct K as [K L].
  apply IH; [cbn; rewrite H, K; reflexivity|exact L].
Qed.

Theorem disjuncts_have_no_or phi : all_conjunctive (disjuncts phi) = true.
Proof.
  induction phi; cbn [disjuncts]; auto;
    try (apply map_conjunctive; [auto|assumption]); try (apply pairs_conjunctive; [|assumption|assumption]; intros d e H K; cbn; rewrite H, K; reflexivity).
  - apply filtered_conjunctive; assumption.
  - rewrite forallb_app, IHphi1; exact IHphi2.
  - intros d H; apply unless_conjunctive; assumption.
Qed.

(* --- the same valuations -------------------------------------------------------------------------------------------- *)

(** What the union of a list means. *)
Definition any S (ds : list formula) : meanings var := fun i j mu => exists d, In d ds /\ meaning S d i j mu.

Lemma any_app S ds es : equ (any S (ds ++ es)) (either (any S ds) (any S es)).
Proof. intros i j mu; unfold any, Algebra.either; setoid_rewrite in_app_iff; firstorder. Qed.

Lemma union_of_any S ds : forall d, equ (meaning S (union_of d ds)) (any S (d :: ds)).
Proof.
  induction ds as [|e ds IH]; intros d i j mu; cbn [union_of].
  - unfold any; split; [intros H; exists d; cbn; auto|intros [e [[<-|[]] H]]; exact H].
  - rewrite (IH (Or _ _ d e) i j mu); unfold any; split.
    + intros [f [[<-|I] H]]; [destruct H as [H|H]; [exists d|exists e]; cbn; auto|exists f; cbn; auto].
    + intros [f [[<-|[<-|I]] H]]; [exists (Or _ _ d e)|exists (Or _ _ d e)|exists f]; cbn; auto.
Qed.

Lemma any_one S d : equ (any S [d]) (meaning S d).
Proof. symmetry; apply (union_of_any S [] d). Qed.

Lemma or_of_any S phi ds : equ (any S ds) (meaning S phi) -> equ (meaning S (or_of phi ds)) (meaning S phi).
Proof. destruct ds as [|d ds]; cbn [or_of]; [reflexivity|]; rewrite union_of_any; auto. Qed.

Lemma any_map S f F ds : (forall d, equ (meaning S (f d)) (F (meaning S d))) ->
  (forall D : formula -> meanings var, forall ds, equ (F (fun i j mu => exists d, In d ds /\ D d i j mu)) (fun i j mu => exists d, In d ds /\ F (D d) i j mu)) ->
  equ (any S (map f ds)) (F (any S ds)).
Proof.
  intros H U; unfold any; rewrite (U (meaning S) ds); intros i j mu; split.
  - intros [x [I K]]; apply in_map_iff in I; destruct I as [d [<- I]]; exists d; split; [exact I|apply H, K].
  - intros [d [I K]]; exists (f d); split; [apply in_map, I|apply H, K].
Qed.

Lemma any_pairs S f F ds es : (forall d e, equ (meaning S (f d e)) (F (meaning S d) (meaning S e))) ->
  (forall i j mu, F (any S ds) (any S es) i j mu <-> exists d e, In d ds /\ In e es /\ F (meaning S d) (meaning S e) i j mu) ->
  equ (any S (pairs f ds es)) (F (any S ds) (any S es)).
Proof.
  intros H U i j mu; rewrite U; unfold any, pairs; split.
  - intros [x [I K]]; apply in_flat_map in I; destruct I as [d [I J]]; apply in_map_iff in J; destruct J as [e [<- J]].
    exists d, e; split; [exact I|split; [exact J|apply H, K]].
  - intros [d [e [I [J K]]]]; exists (f d e); split; [|apply H, K]; apply in_flat_map; exists d; split; [exact I|apply in_map, J].
Qed.

Lemma any_filtered S c : forall ds, equ (any S (filtered c ds)) (restricted (cond event var S c) (any S ds)).
Proof.
  induction c as [A P|c1 IH1 c2 IH2|c1 IH1 c2 IH2]; intros ds; cbn [filtered].
  - apply (any_map S (fun d => Filter _ _ d (Every _ _ A P)) (restricted (cond event var S (Every _ _ A P)))); [reflexivity|].
    intros D es i j mu; unfold Algebra.restricted; firstorder.
  - rewrite IH2; intros i j mu; unfold Algebra.restricted; rewrite (IH1 ds i j mu); unfold Algebra.restricted, cond; cbn; tauto.
  - rewrite any_app; intros i j mu; unfold Algebra.either; rewrite (IH1 ds i j mu), (IH2 ds i j mu).
    unfold Algebra.restricted, cond; cbn; tauto.
Qed.

Lemma unless_any S es : forall d, equ (meaning S (unless d es)) (restricted (clear var (any S es)) (meaning S d)).
Proof.
  induction es as [|e es IH]; intros d; cbn [unless fold_left].
  - symmetry; apply and_left; intros i j mu _ i' j' nu _ _ _ [x [[] _]].
  - change (fold_left (fun psi d0 => Unless _ _ psi d0) es (Unless _ _ d e)) with (unless (Unless _ _ d e) es); rewrite IH.
    intros i j mu; unfold Algebra.restricted at 1; cbn [Cel.meaning]; unfold Algebra.restricted, Algebra.clear, any; split.
    + intros [[K H] N]; split; [exact K|]; intros i' j' nu L1 L2 L3 [x [[<-|I] X]]; [apply (H i' j' nu); auto|apply (N i' j' nu); eauto].
    + intros [K H]; repeat split; auto; intros i' j' nu L1 L2 L3; [intros X|intros [x [I X]]]; apply (H i' j' nu); auto;
        [exists e|exists x]; cbn; auto.
Qed.

Theorem disjuncts_mean_the_same S phi : equ (any S (disjuncts phi)) (meaning S phi).
Proof.
  induction phi; cbn [disjuncts].
  - apply any_one.
  - rewrite in_clause, <- IHphi; apply (any_map S (fun d => In_ _ _ d A)); [reflexivity|].
    intros D ds i j mu; unfold mapped; firstorder.
  - rewrite any_filtered, IHphi; reflexivity.
  - rewrite seq_clause, <- IHphi1, <- IHphi2; apply any_pairs; [reflexivity|]; intros i j mu; unfold sequenced, any; split.
    + intros [k [mu1 [mu2 [L [[d [I K1]] [[e [J K2]] M]]]]]]; exists d, e; split; [exact I|split; [exact J|]]; exists k, mu1, mu2; auto.
    + intros [d [e [I [J [k [mu1 [mu2 [L [K1 [K2 M]]]]]]]]]]; exists k, mu1, mu2; eauto 8.
  - rewrite any_one, !plus_clause; apply plus_equ, or_of_any, IHphi.
  - rewrite contiguous_seq_clause, <- IHphi1, <- IHphi2; apply any_pairs; [reflexivity|]; intros i j mu; unfold contiguous, any; split.
    + intros [k [mu1 [mu2 [L [[d [I K1]] [[e [J K2]] M]]]]]]; exists d, e; split; [exact I|split; [exact J|]]; exists k, mu1, mu2; auto.
    + intros [d [e [I [J [k [mu1 [mu2 [L [K1 [K2 M]]]]]]]]]]; exists k, mu1, mu2; eauto 8.
  - rewrite any_one, !contiguous_plus_clause; apply contiguous_plus_equ, or_of_any, IHphi.
  - rewrite project_clause, <- IHphi; apply (any_map S (Project _ _ L)); [reflexivity|].
    intros D ds i j mu; unfold mapped; firstorder.
  - rewrite start_clause, <- IHphi; apply (any_map S (Start _ _)); [reflexivity|].
    intros D ds i j mu; unfold Algebra.restricted; firstorder.
  - rewrite any_app, IHphi1, IHphi2; reflexivity.
  - rewrite and_clause, <- IHphi1, <- IHphi2; apply (any_pairs S _ (fun D E => restricted E D)); [reflexivity|].
    intros i j mu; unfold Algebra.restricted, any; firstorder.
  - rewrite all_clause, <- IHphi1, <- IHphi2; apply any_pairs; [reflexivity|]; intros i j mu; unfold interleaved, any; split.
    + intros [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [[d [X K1]] [[e [Y K2]] M]]]]]]]]]]]]; exists d, e; split; [exact X|split; [exact Y|]].
      exists i1, j1, i2, j2, mu1, mu2; auto 9.
    + intros [d [e [X [Y [i1 [j1 [i2 [j2 [mu1 [mu2 [L1 [L2 [I [J [K1 [K2 M]]]]]]]]]]]]]]]]; exists i1, j1, i2, j2, mu1, mu2; eauto 12.
  - rewrite unless_clause, <- IHphi1, <- IHphi2; apply (any_map S _ (restricted (clear var (any S (disjuncts phi2))))).
    + intros d; apply unless_any.
    + intros D ds i j mu; unfold Algebra.restricted; firstorder.
  - rewrite strict_clause, <- IHphi; apply (any_map S (Strict _ _)); [reflexivity|].
    intros D ds i j mu; unfold Algebra.restricted; firstorder.
  - rewrite any_one, !(next_clause _ _ _ var_dec); apply chosen_equ, or_of_any, IHphi.
  - rewrite any_one, !(last_clause _ _ _ var_dec); apply chosen_equ, or_of_any, IHphi.
  - rewrite any_one, !max_clause; apply chosen_equ, or_of_any, IHphi.
Qed.

Theorem disjunctive_equal phi : equal (disjunctive phi) phi.
Proof. intros S; apply or_of_any, disjuncts_mean_the_same. Qed.

End Disjunctive.
