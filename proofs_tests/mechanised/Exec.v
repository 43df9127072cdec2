(** The words of a formula over given events, as a list: the definition, executable. Extracted in Extract.v. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.
From Cerify Require Import Cel Words Compile Theorem62.

Section Exec.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Notation formula := (formula event var).
Notation word := (word event var).
Notation lang := (lang event var var_dec type_of).
Notation events := (events event var).
Notation blank := (blank event var).
Notation shape := (shape event var).

Definition finds := list event -> list word.

(** All ways to cut a list in two. *)
Fixpoint splits {T : Type} (es : list T) : list (list T * list T) :=
  ([], es) :: match es with
              | [] => []
              | e :: es => map (fun p => (e :: fst p, snd p)) (splits es)
              end.

Definition seqx (F G : finds) : finds := fun es =>
  flat_map (fun p => flat_map (fun x => map (app x) (G (snd p))) (F (fst p))) (splits es).

Definition head_marked (w : word) : bool := match w with a :: _ => Words.is_marked event var a | [] => false end.

Definition cseqx (F G : finds) : finds := fun es =>
  flat_map (fun p => flat_map (fun x => map (app x) (filter head_marked (G (snd p))))
                              (filter (fun x => head_marked (rev x)) (F (fst p)))) (splits es).

(** At most n + 1 rounds. *)
Fixpoint roundsx (join : finds -> finds -> finds) (F : finds) (n : nat) : finds := fun es =>
  match n with
  | 0 => F es
  | S n => F es ++ join F (roundsx join F n) es
  end.

Fixpoint passesb (c : condition event var) (w : word) : bool :=
  match c with
  | Every _ _ A P => forallb (fun a => negb (has var var_dec A (snd a)) || P (fst a)) w
  | Conjunction _ _ c1 c2 => passesb c1 w && passesb c2 w
  | Disjunction _ _ c1 c2 => passesb c1 w || passesb c2 w
  end.

Fixpoint eqwb (u v : word) : bool :=
  match u, v with
  | [], [] => true
  | a :: u, b :: v => same_marks var var_dec (snd a) (snd b) && eqwb u v
  | _, _ => false
  end.

(** All ways to cut a list in three. *)
Definition thirds {T : Type} (es : list T) : list (list T * (list T * list T)) :=
  flat_map (fun p => map (fun q => (fst p, q)) (splits (snd p))) (splits es).

Definition nonempty {T : Type} (es : list T) : bool := match es with [] => false | _ => true end.

Definition aroundx (F : finds) (es : list event) : list ((bool * bool) * word) :=
  flat_map (fun p => map (fun w => ((nonempty (fst p), nonempty (snd (snd p))),
                                    blank (fst p) ++ w ++ blank (snd (snd p)))) (F (fst (snd p)))) (thirds es).

Definition allx (F G : finds) : finds := fun es =>
  flat_map (fun x => flat_map (fun y =>
    if (fst (fst x) && fst (fst y)) || (snd (fst x) && snd (fst y)) then [] else [zip event var (snd x) (snd y)])
    (aroundx G es)) (aroundx F es).

Definition insideb (F : finds) (es : list event) : bool :=
  existsb (fun p => nonempty (F (fst (snd p)))) (thirds es).

Definition bestx (better : list bool -> list bool -> bool) (F : finds) : finds := fun es =>
  let found := F es in filter (fun w => forallb (fun u => negb (better (shape w) (shape u))) found) found.

Fixpoint exec (phi : formula) : finds := fun es =>
  match phi with
  | Event _ _ R => match rev es with
                   | [] => []
                   | e :: before => if var_dec (type_of e) R then [blank (rev before) ++ [(e, [R])]] else []
                   end
  | In_ _ _ psi A => map (remark event var (in_marks var A)) (exec psi es)
  | Filter _ _ psi c => filter (passesb c) (exec psi es)
  | Seq _ _ phi1 phi2 => seqx (exec phi1) (exec phi2) es
  | Plus _ _ psi => roundsx seqx (exec psi) (length es) es
  | ContiguousSeq _ _ phi1 phi2 => cseqx (exec phi1) (exec phi2) es
  | ContiguousPlus _ _ psi => roundsx cseqx (exec psi) (length es) es
  | Project _ _ K psi => map (remark event var (keep var var_dec K)) (exec psi es)
  | Start _ _ psi => filter head_marked (exec psi es)
  | Or _ _ phi1 phi2 => exec phi1 es ++ exec phi2 es
  | And _ _ phi1 phi2 => let right := exec phi2 es in filter (fun w => existsb (eqwb w) right) (exec phi1 es)
  | All _ _ phi1 phi2 => allx (exec phi1) (exec phi2) es
  | Unless _ _ phi1 phi2 => if insideb (exec phi2) es then [] else exec phi1 es
  | Strict _ _ psi => filter (fun w => strict_from None (shape w)) (exec psi es)
  | Next _ _ psi => bestx next_better (exec psi) es
  | Last _ _ psi => bestx (last_better false) (exec psi) es
  | Max _ _ psi => bestx (max_better false) (exec psi) es
  end.

(* --- it is the definition ----------------------------------------------------------------------------------------- *)

Definition finds_all (F : finds) (D : word -> Prop) : Prop := forall es w, In w (F es) <-> D w /\ events w = es.

Lemma in_splits {T} (es u v : list T) : In (u, v) (splits es) <-> es = u ++ v.
Proof.
  revert u v; induction es as [|e es IH]; intros u v; cbn.
  - split.
    + intros [E|[]]; inversion E; auto.
    + intros E; destruct u; [cbn in E; subst; auto|discriminate].
  - rewrite in_map_iff; split.
    + intros [E|[[u' v'] [E I]]]; inversion E; subst; [reflexivity|]; apply IH in I; cbn; subst; reflexivity.
    + destruct u as [|a u]; cbn; intros E; inversion E; subst; [left; reflexivity|].
      right; exists (u, v); split; [reflexivity|apply IH; reflexivity].
Qed.

Lemma in_thirds {T} (es u v w : list T) : In (u, (v, w)) (thirds es) <-> es = u ++ v ++ w.
Proof.
  unfold thirds; rewrite in_flat_map; split.
  - intros [[x y] [I J]]; apply in_splits in I; cbn in J; apply in_map_iff in J; destruct J as [[a b] [E J]].
    inversion E; subst; apply in_splits in J; cbn in J; subst; reflexivity.
  - intros ->; exists (u, v ++ w); split; [apply in_splits; reflexivity|]; cbn; apply in_map_iff.
    exists (v, w); split; [reflexivity|apply in_splits; reflexivity].
Qed.

Lemma events_app u v : events (u ++ v) = events u ++ events v. Proof. apply map_app. Qed.

Lemma seqx_all F G D E : finds_all F D -> finds_all G E -> finds_all (seqx F G) (seqw event var D E).
Proof.
  intros HF HG es w; unfold seqx; rewrite in_flat_map; split.
  - intros [[u v] [I J]]; apply in_splits in I; cbn in J; apply in_flat_map in J; destruct J as [x [J K]].
    apply in_map_iff in K; destruct K as [y [<- K]]; apply HF in J; apply HG in K; destruct J as [J <-], K as [K <-].
    split; [exists x, y; auto|rewrite events_app; congruence].
  - intros [[x [y [X [Y ->]]]] <-]; exists (events x, events y); split; [apply in_splits, events_app|]; cbn.
    apply in_flat_map; exists x; split; [apply HF; auto|]; apply in_map; apply HG; auto.
Qed.

Lemma is_marked_spec a : Words.is_marked event var a = true <-> marked event var a.
Proof. unfold Words.is_marked, marked; destruct (snd a); split; congruence. Qed.

Lemma cseqx_all F G D E : finds_all F D -> finds_all G E -> finds_all (cseqx F G) (cseqw event var D E).
Proof.
  intros HF HG es w; unfold cseqx; rewrite in_flat_map; split.
  - intros [[u v] [I J]]; apply in_splits in I; cbn in J; apply in_flat_map in J; destruct J as [x [J K]].
    apply in_map_iff in K; destruct K as [y [<- K]]; apply filter_In in J, K; destruct J as [J MJ], K as [K MK].
    apply HF in J; apply HG in K; destruct J as [J <-], K as [K <-].
    split; [|rewrite events_app; congruence].
    destruct (rev x) as [|a x'] eqn:R; [discriminate|]; destruct y as [|b y]; [discriminate|].
    assert (X : x = rev x' ++ [a]) by (rewrite <- (rev_involutive x), R; reflexivity).
    exists (rev x'), a, b, y; rewrite <- X; repeat split; auto; apply is_marked_spec; assumption.
  - intros [[x [a [b [y [X [Y [MA [MB ->]]]]]]]] <-]; exists (events (x ++ [a]), events (b :: y)).
    split; [apply in_splits, events_app|]; cbn [fst snd]; apply in_flat_map; exists (x ++ [a]); split.
    + apply filter_In; split; [apply HF; auto|]; rewrite rev_app_distr; cbn; apply is_marked_spec, MA.
    + apply in_map; apply filter_In; split; [apply HG; auto|]; apply is_marked_spec, MB.
Qed.

Definition upto (join : (word -> Prop) -> (word -> Prop) -> word -> Prop) (D : word -> Prop) (n : nat) : word -> Prop :=
  fun w => exists m, m <= n /\ roundsw event var join D m w.

Lemma rounds_all joinx joinw F D :
  (forall F G D E, finds_all F D -> finds_all G E -> finds_all (joinx F G) (joinw D E)) ->
  (forall D (E : nat -> word -> Prop) n w,
     joinw D (fun w => exists m, m <= n /\ E m w) w <-> exists m, m <= n /\ joinw D (E m) w) ->
  finds_all F D -> forall n, finds_all (roundsx joinx F n) (upto joinw D n).
Proof.
  intros J M HF; induction n as [|n IH]; intros es w; unfold upto; cbn.
  - rewrite (HF es w); split.
    + intros [H E]; split; [exists 0; auto|exact E].
    + intros [[m [L H]] E]; assert (m = 0) by lia; subst; auto.
  - rewrite in_app_iff, (HF es w), (J F _ D _ HF IH es w); unfold upto; rewrite M; split.
    + intros [[H E]|[[m [L H]] E]]; (split; [|exact E]); [exists 0; split; [lia|exact H]|exists (Datatypes.S m); split; [lia|exact H]].
    + intros [[[|m] [L H]] E]; [left; auto|right; split; [exists m; split; [lia|exact H]|exact E]].
Qed.

Lemma seqw_upto D (E : nat -> word -> Prop) n w :
  seqw event var D (fun w => exists m, m <= n /\ E m w) w <-> exists m, m <= n /\ seqw event var D (E m) w.
Proof. unfold seqw; firstorder. Qed.

Lemma cseqw_upto D (E : nat -> word -> Prop) n w :
  cseqw event var D (fun w => exists m, m <= n /\ E m w) w <-> exists m, m <= n /\ cseqw event var D (E m) w.
Proof.
  unfold cseqw; split.
  - intros [u [a [b [v [U [[m [L V]] K]]]]]]; exists m; split; [exact L|]; exists u, a, b, v; auto.
  - intros [m [L [u [a [b [v [U [V K]]]]]]]]; exists u, a, b, v; split; [exact U|]; split; [exists m; auto|exact K].
Qed.

(** Each round has an event at least, so that there are no more rounds than events. *)
Lemma rounds_bound (join : words event var -> words event var -> words event var) (D : words event var) n w :
  (forall w, D w -> w <> []) ->
  (forall D E w, join D E w -> exists u v, D u /\ E v /\ w = u ++ v) ->
  roundsw event var join D n w -> n < length w.
Proof.
  intros N J; revert w; induction n as [|n IH]; cbn; intros w H.
  - apply N in H; destruct w; cbn; [congruence|lia].
  - apply J in H; destruct H as [u [v [U [V ->]]]]; apply IH in V; apply N in U; rewrite app_length.
    destruct u; cbn; [congruence|lia].
Qed.

Lemma plus_all joinx (joinw : words event var -> words event var -> words event var) F (D : words event var) : (forall w, D w -> w <> []) ->
  (forall D E w, joinw D E w -> exists u v, D u /\ E v /\ w = u ++ v) ->
  (forall n, finds_all (roundsx joinx F n) (upto joinw D n)) ->
  finds_all (fun es => roundsx joinx F (length es) es) (fun w => exists n, roundsw event var joinw D n w).
Proof.
  intros N J H es w; rewrite (H (length es) es w); unfold upto; split.
  - intros [[m [_ R]] E]; eauto.
  - intros [[n R] E]; split; [|exact E]; exists n; split; [|exact R].
    apply (rounds_bound joinw D n w N J) in R; subst es; unfold Words.events; rewrite map_length; apply Nat.lt_le_incl, R.
Qed.

Lemma passesb_spec c w : passesb c w = true <-> passes event var c w.
Proof.
  induction c; cbn; [|rewrite andb_true_iff; tauto|rewrite orb_true_iff; tauto].
  rewrite forallb_forall, Forall_forall; split; intros H [e L] I; specialize (H (e, L) I); cbn [fst snd] in *.
  - intros K; apply (has_spec var var_dec) in K; rewrite K in H; exact H.
  - destruct (has var var_dec A L) eqn:K; [|reflexivity]; apply has_spec in K; cbn; auto.
Qed.

Lemma eqwb_spec u : forall v, events u = events v -> eqwb u v = true <-> eqw event var u v.
Proof.
  induction u as [|a u IH]; intros [|b v] E; try discriminate; cbn.
  - split; [constructor|auto].
  - inversion E as [[E1 E2]]; rewrite andb_true_iff, same_marks_spec, (IH v E2); split.
    + intros [M R]; constructor; [split|]; auto.
    + intros H; inversion H as [|x y l m [_ M] R]; auto.
Qed.

Lemma events_blank es : events (blank es) = es.
Proof. unfold Words.events, Words.blank; rewrite map_map; cbn; apply map_id. Qed.

Lemma in_aroundx F D b a es u : finds_all F D ->
  In ((b, a), u) (aroundx F es) <->
  exists pre w fin, D w /\ u = blank pre ++ w ++ blank fin /\ events u = es /\ b = nonempty pre /\ a = nonempty fin.
Proof.
  intros H; unfold aroundx; rewrite in_flat_map; split.
  - intros [[pre [mid fin]] [I J]]; apply in_thirds in I; cbn [fst snd] in J; apply in_map_iff in J.
    destruct J as [w [E J]]; inversion E; subst; apply H in J; destruct J as [J <-].
    exists pre, w, fin; rewrite !events_app, !events_blank; auto.
  - intros [pre [w [fin [W [-> [E [-> ->]]]]]]]; exists (pre, (events w, fin)); split.
    + apply in_thirds; rewrite <- E, !events_app, !events_blank; reflexivity.
    + cbn [fst snd]; apply in_map_iff; exists w; split; [reflexivity|apply H; auto].
Qed.

Lemma zip_events u v : events u = events v -> events (zip event var u v) = events u.
Proof.
  revert v; induction u as [|a u IH]; intros [|b v] E; try discriminate; cbn; [auto|].
  inversion E; f_equal; apply IH; assumption.
Qed.

Lemma allx_all F G D E : finds_all F D -> finds_all G E -> finds_all (allx F G) (allw event var D E).
Proof.
  intros HF HG es w; unfold allx; rewrite in_flat_map; split.
  - intros [[[b1 a1] u] [I J]]; apply in_flat_map in J; destruct J as [[[b2 a2] v] [J K]]; cbn [fst snd] in K.
    destruct ((b1 && b2) || (a1 && a2)) eqn:X; [destruct K|]; destruct K as [<-|[]]; apply orb_false_iff in X; destruct X as [XB XA].
    apply (in_aroundx F D _ _ _ _ HF) in I; apply (in_aroundx G E _ _ _ _ HG) in J.
    destruct I as [p1 [w1 [f1 [W1 [E1 [V1 [B1 A1]]]]]]], J as [p2 [w2 [f2 [W2 [E2 [V2 [B2 A2]]]]]]].
    assert (EV : events u = events v) by congruence; split; [|rewrite zip_events; congruence].
    exists u, v, b1, a1, b2, a2; split; [exists p1, w1, f1|split; [exists p2, w2, f2|auto]];
      (split; [assumption|split; [assumption|]]); split; intros ->;
      [destruct p1|destruct f1|destruct p2|destruct f2]; auto; discriminate.
  - intros [[u [v [b1 [a1 [b2 [a2 [[p1 [w1 [f1 [W1 [E1 [B1 A1]]]]]] [[p2 [w2 [f2 [W2 [E2 [B2 A2]]]]]] [XB [XA [V ->]]]]]]]]]]] EZ].
    rewrite zip_events in EZ by exact V.
    exists ((nonempty p1, nonempty f1), u); split; [apply (in_aroundx F D _ _ _ _ HF); exists p1, w1, f1; auto|].
    apply in_flat_map; exists ((nonempty p2, nonempty f2), v); split.
    + apply (in_aroundx G E _ _ _ _ HG); exists p2, w2, f2; repeat split; auto; congruence.
    + cbn [fst snd].
      assert (XB' : nonempty p1 && nonempty p2 = false).
      { destruct b1, b2; try discriminate; [rewrite (B2 eq_refl)|rewrite (B1 eq_refl)|rewrite (B1 eq_refl)]; cbn;
          auto using andb_false_r. }
      assert (XA' : nonempty f1 && nonempty f2 = false).
      { destruct a1, a2; try discriminate; [rewrite (A2 eq_refl)|rewrite (A1 eq_refl)|rewrite (A1 eq_refl)]; cbn;
          auto using andb_false_r. }
      rewrite XB', XA'; left; reflexivity.
Qed.

Lemma insideb_spec F D es : finds_all F D -> insideb F es = true <-> inside event var D es.
Proof.
  intros H; unfold insideb, inside; rewrite existsb_exists; split.
  - intros [[u [m v]] [I N]]; apply in_thirds in I; cbn [fst snd] in N; destruct (F m) as [|w ws] eqn:E; [discriminate|].
    assert (K : In w (F m)) by (rewrite E; left; auto); apply H in K; destruct K as [K <-]; exists u, w, v; auto.
  - intros [u [w [v [K ->]]]]; exists (u, (events w, v)); split; [apply in_thirds; reflexivity|]; cbn [fst snd].
    assert (I : In w (F (events w))) by (apply H; auto); destruct (F (events w)); [destruct I|reflexivity].
Qed.

Lemma bestx_all better F D : finds_all F D -> finds_all (bestx better F) (best event var better D).
Proof.
  intros H es w; unfold bestx, best; rewrite filter_In, forallb_forall, (H es w); split.
  - intros [[K E] B]; split; [|exact E]; split; [exact K|]; intros u U V; apply negb_true_iff, B, H; split; [exact U|congruence].
  - intros [[K B] E]; split; [auto|]; intros u U; apply H in U; destruct U as [U V]; apply negb_true_iff, B; [exact U|congruence].
Qed.

Lemma head_marked_spec w : head_marked w = true <-> begins_marked event var w.
Proof.
  unfold begins_marked; destruct w as [|a w]; cbn.
  - split; [discriminate|intros [a [v [E _]]]; discriminate].
  - rewrite is_marked_spec; split; [intros M; exists a, w; auto|intros [b [v [E M]]]; inversion E; subst; exact M].
Qed.

Lemma events_remark f w : events (remark event var f w) = events w.
Proof. unfold Words.events, remark; rewrite map_map; reflexivity. Qed.

Lemma remark_all f F D : finds_all F D ->
  finds_all (fun es => map (remark event var f) (F es)) (fun w => exists u, D u /\ w = remark event var f u).
Proof.
  intros H es w; rewrite in_map_iff; split.
  - intros [u [<- I]]; apply H in I; destruct I as [I E]; rewrite events_remark; split; [exists u; auto|exact E].
  - intros [[u [K ->]] E]; rewrite events_remark in E; exists u; split; [reflexivity|apply H; auto].
Qed.

Lemma filter_all (f : word -> bool) (P : word -> Prop) F D : (forall w, f w = true <-> P w) -> finds_all F D ->
  finds_all (fun es => filter f (F es)) (fun w => D w /\ P w).
Proof. intros S H es w; rewrite filter_In, (H es w), (S w); tauto. Qed.

(** What is computed is the meaning: the words of phi over the events es. *)
Theorem exec_is_lang phi : finds_all (exec phi) (lang phi).
Proof.
  assert (N : forall phi w, lang phi w -> w <> []).
  { intros psi w H; apply (theorem_6_2 event var var_dec type_of psi) in H; eapply runs_nonempty; [|exact H].
    apply compile_proper. }
  assert (JS : forall D E w, seqw event var D E w -> exists u v, D u /\ E v /\ w = u ++ v) by auto.
  assert (JC : forall D E w, cseqw event var D E w -> exists u v, D u /\ E v /\ w = u ++ v).
  { intros D E w [u [a [b [v [U [V [_ [_ ->]]]]]]]]; exists (u ++ [a]), (b :: v); auto. }
  induction phi; cbn [exec Words.lang].
  - intros es w; destruct (rev es) as [|e before] eqn:V.
    + split; [intros []|]; intros [[fs [e [-> T]]] <-]; rewrite events_app, rev_app_distr in V; discriminate.
    + assert (X : es = rev before ++ [e]) by (rewrite <- (rev_involutive es), V; reflexivity); subst es.
      destruct (var_dec (type_of e) R) as [T|T]; split.
      * intros [<-|[]]; split; [eauto|]; rewrite events_app, events_blank; reflexivity.
      * intros [[fs [f [-> T']]] E]; rewrite events_app, events_blank in E; apply app_inj_tail in E; destruct E as [-> E].
        cbn in E; subst f; left; reflexivity.
      * intros [].
      * intros [[fs [f [-> T']]] E]; rewrite events_app, events_blank in E; apply app_inj_tail in E; destruct E as [_ E].
        cbn in E; congruence.
  - apply remark_all, IHphi.
  - apply filter_all; [apply passesb_spec|exact IHphi].
  - apply seqx_all; assumption.
  - apply plus_all; [apply N|apply JS|]; apply rounds_all; auto using seqx_all, seqw_upto.
  - apply cseqx_all; assumption.
  - apply plus_all; [apply N|apply JC|]; apply rounds_all; auto using cseqx_all, cseqw_upto.
  - apply remark_all, IHphi.
  - apply filter_all; [apply head_marked_spec|exact IHphi].
  - intros es w; rewrite in_app_iff, (IHphi1 es w), (IHphi2 es w); tauto.
  - intros es w; rewrite filter_In, existsb_exists, (IHphi1 es w); split.
    + intros [[K E] [u [I S']]]; apply IHphi2 in I; destruct I as [I V]; split; [|exact E]; split; [exact K|].
      exists u; split; [exact I|apply eqwb_spec; [congruence|exact S']].
    + intros [[K [u [U S']]] E]; split; [auto|].
      assert (EV : events w = events u) by (clear - S'; induction S' as [|x y l m [A _] _ IH]; cbn; [reflexivity|f_equal; assumption]).
      exists u; split; [apply IHphi2; split; [exact U|congruence]|apply eqwb_spec; assumption].
  - apply allx_all; assumption.
  - intros es w; destruct (insideb (exec phi2) es) eqn:I.
    + apply (insideb_spec _ _ _ IHphi2) in I; split; [intros []|intros [[_ K] E]; subst; contradiction].
    + rewrite (IHphi1 es w); split.
      * intros [K E]; split; [|exact E]; split; [exact K|]; intros J; rewrite E in J.
        apply (insideb_spec _ _ _ IHphi2) in J; congruence.
      * intros [[K _] E]; auto.
  - apply filter_all; [intros w; apply (proj1 (strict_spec event var w))|exact IHphi].
  - apply bestx_all, IHphi.
  - apply bestx_all, IHphi.
  - apply bestx_all, IHphi.
Qed.

End Exec.

