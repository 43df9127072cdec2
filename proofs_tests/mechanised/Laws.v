(** The laws of CEL (equivalence/rewrite/laws) as theorems. Written by make_laws.py: do not edit.

    phi, psi and chi are any formulas, P and Q any predicates on one event; all other names are different variables. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Tactics.

Section Laws.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Notation formula := (formula event var).
Notation Event := (Event event var).
Notation In_ := (In_ event var).
Notation Filter := (Filter event var).
Notation Seq := (Seq event var).
Notation Plus := (Plus event var).
Notation ContiguousSeq := (ContiguousSeq event var).
Notation ContiguousPlus := (ContiguousPlus event var).
Notation Project := (Project event var).
Notation Start := (Start event var).
Notation Or := (Or event var).
Notation And := (And event var).
Notation All := (All event var).
Notation Unless := (Unless event var).
Notation Strict := (Strict event var).
Notation Next := (Next event var).
Notation Last := (Last event var).
Notation Max := (Max event var).
Notation Every := (Every event var).
Notation Conjunction := (Conjunction event var).
Notation Disjunction := (Disjunction event var).
Notation equal := (equal event var type_of).
Notation equal_events := (equal_events event var type_of).
Notation always_binds := (always_binds event var type_of).
Notation never_binds := (never_binds event var type_of).

(* --- Sequencing ---------------------------------------------------------------------------------------------------- *)

(** ; is associative: phi ; psi ; chi = phi ; (psi ; chi) *)
Theorem law_seq_is_associative : forall (phi psi chi : formula), equal (Seq (Seq phi psi) chi) (Seq phi (Seq psi chi)).
Proof. law. Qed.

(** : is associative: phi : psi : chi = phi : (psi : chi) *)
Theorem law_contiguous_is_associative : forall (phi psi chi : formula), equal (ContiguousSeq (ContiguousSeq phi psi) chi) (ContiguousSeq phi (ContiguousSeq psi chi)).
Proof. law. Qed.

(** ; then : associates: (phi ; psi) : chi = phi ; (psi : chi) *)
Theorem law_seq_then_contiguous_associates : forall (phi psi chi : formula), equal (ContiguousSeq (Seq phi psi) chi) (Seq phi (ContiguousSeq psi chi)).
Proof. law. Qed.

(** : then ; associates: (phi : psi) ; chi = phi : (psi ; chi) *)
Theorem law_contiguous_then_seq_associates : forall (phi psi chi : formula), equal (Seq (ContiguousSeq phi psi) chi) (ContiguousSeq phi (Seq psi chi)).
Proof. law. Qed.

(** ; over OR on the left: (phi OR psi) ; chi = phi ; chi OR psi ; chi *)
Theorem law_seq_over_or_on_the_left : forall (phi psi chi : formula), equal (Seq (Or phi psi) chi) (Or (Seq phi chi) (Seq psi chi)).
Proof. law. Qed.

(** ; over OR on the right: phi ; (psi OR chi) = phi ; psi OR phi ; chi *)
Theorem law_seq_over_or_on_the_right : forall (phi psi chi : formula), equal (Seq phi (Or psi chi)) (Or (Seq phi psi) (Seq phi chi)).
Proof. law. Qed.

(** : over OR on the left: (phi OR psi) : chi = phi : chi OR psi : chi *)
Theorem law_contiguous_over_or_on_the_left : forall (phi psi chi : formula), equal (ContiguousSeq (Or phi psi) chi) (Or (ContiguousSeq phi chi) (ContiguousSeq psi chi)).
Proof. law. Qed.

(** : over OR on the right: phi : (psi OR chi) = phi : psi OR phi : chi *)
Theorem law_contiguous_over_or_on_the_right : forall (phi psi chi : formula), equal (ContiguousSeq phi (Or psi chi)) (Or (ContiguousSeq phi psi) (ContiguousSeq phi chi)).
Proof. law. Qed.

(** : is below ;: phi ; psi OR phi : psi = phi ; psi *)
Theorem law_contiguous_is_below_seq : forall (phi psi : formula), equal (Or (Seq phi psi) (ContiguousSeq phi psi)) (Seq phi psi).
Proof. includes. Qed.

(** : is ; and :: phi ; psi AND phi : psi = phi : psi *)
Theorem law_contiguous_is_seq_and_contiguous : forall (phi psi : formula), equal (And (Seq phi psi) (ContiguousSeq phi psi)) (ContiguousSeq phi psi).
Proof. includes. Qed.

(* --- Iteration ----------------------------------------------------------------------------------------------------- *)

(** + unfolds on the left: phi+ = phi OR phi ; phi+ *)
Theorem law_plus_unfolds_on_the_left : forall (phi : formula), equal (Plus phi) (Or phi (Seq phi (Plus phi))).
Proof. law. Qed.

(** + unfolds on the right: phi+ = phi OR phi+ ; phi *)
Theorem law_plus_unfolds_on_the_right : forall (phi : formula), equal (Plus phi) (Or phi (Seq (Plus phi) phi)).
Proof. law. Qed.

(** :+ unfolds on the left: phi:+ = phi OR phi : phi:+ *)
Theorem law_contiguous_plus_unfolds_on_the_left : forall (phi : formula), equal (ContiguousPlus phi) (Or phi (ContiguousSeq phi (ContiguousPlus phi))).
Proof. law. Qed.

(** :+ unfolds on the right: phi:+ = phi OR phi:+ : phi *)
Theorem law_contiguous_plus_unfolds_on_the_right : forall (phi : formula), equal (ContiguousPlus phi) (Or phi (ContiguousSeq (ContiguousPlus phi) phi)).
Proof. law. Qed.

(** + unfolds twice: phi+ = phi OR phi ; phi OR phi ; phi ; phi+ *)
Theorem law_plus_unfolds_twice : forall (phi : formula), equal (Plus phi) (Or (Or phi (Seq phi phi)) (Seq (Seq phi phi) (Plus phi))).
Proof. law. Qed.

(** + is idempotent: phi++ = phi+ *)
Theorem law_plus_is_idempotent : forall (phi : formula), equal (Plus (Plus phi)) (Plus phi).
Proof. law. Qed.

(** :+ is idempotent: phi:+:+ = phi:+ *)
Theorem law_contiguous_plus_is_idempotent : forall (phi : formula), equal (ContiguousPlus (ContiguousPlus phi)) (ContiguousPlus phi).
Proof. law. Qed.

(** + of :+: phi:++ = phi+ *)
Theorem law_plus_of_contiguous_plus : forall (phi : formula), equal (Plus (ContiguousPlus phi)) (Plus phi).
Proof. law. Qed.

(** :+ of +: phi+:+ = phi+ *)
Theorem law_contiguous_plus_of_plus : forall (phi : formula), equal (ContiguousPlus (Plus phi)) (Plus phi).
Proof. law. Qed.

(** :+ is below +: phi+ OR phi:+ = phi+ *)
Theorem law_contiguous_plus_is_below_plus : forall (phi : formula), equal (Or (Plus phi) (ContiguousPlus phi)) (Plus phi).
Proof. includes. Qed.

(** + and :+: phi+ AND phi:+ = phi:+ *)
Theorem law_plus_and_contiguous_plus : forall (phi : formula), equal (And (Plus phi) (ContiguousPlus phi)) (ContiguousPlus phi).
Proof. includes. Qed.

(** + begins or ends with a round: phi ; phi+ = phi+ ; phi *)
Theorem law_plus_begins_or_ends_with_a_round : forall (phi : formula), equal (Seq phi (Plus phi)) (Seq (Plus phi) phi).
Proof. law. Qed.

(** :+ begins or ends with a round: phi : phi:+ = phi:+ : phi *)
Theorem law_contiguous_plus_begins_or_ends_with_a_round : forall (phi : formula), equal (ContiguousSeq phi (ContiguousPlus phi)) (ContiguousSeq (ContiguousPlus phi) phi).
Proof. law. Qed.

(** + after +: phi+ ; phi+ = phi ; phi+ *)
Theorem law_plus_after_plus : forall (phi : formula), equal (Seq (Plus phi) (Plus phi)) (Seq phi (Plus phi)).
Proof. law. Qed.

(** :+ after :+: phi:+ : phi:+ = phi : phi:+ *)
Theorem law_contiguous_plus_after_contiguous_plus : forall (phi : formula), equal (ContiguousSeq (ContiguousPlus phi) (ContiguousPlus phi)) (ContiguousSeq phi (ContiguousPlus phi)).
Proof. law. Qed.

(** ; slides through +: (phi ; psi)+ ; phi = phi ; (psi ; phi)+ *)
Theorem law_seq_slides_through_plus : forall (phi psi : formula), equal (Seq (Plus (Seq phi psi)) phi) (Seq phi (Plus (Seq psi phi))).
Proof. law. Qed.

(** : slides through :+: (phi : psi):+ : phi = phi : (psi : phi):+ *)
Theorem law_contiguous_slides_through_contiguous_plus : forall (phi psi : formula), equal (ContiguousSeq (ContiguousPlus (ContiguousSeq phi psi)) phi) (ContiguousSeq phi (ContiguousPlus (ContiguousSeq psi phi))).
Proof. law. Qed.

(** + of OR of +: (phi+ OR psi+)+ = (phi OR psi)+ *)
Theorem law_plus_of_or_of_plus : forall (phi psi : formula), equal (Plus (Or (Plus phi) (Plus psi))) (Plus (Or phi psi)).
Proof. law. Qed.

(** :+ of OR of :+: (phi:+ OR psi:+):+ = (phi OR psi):+ *)
Theorem law_contiguous_plus_of_or_of_contiguous_plus : forall (phi psi : formula), equal (ContiguousPlus (Or (ContiguousPlus phi) (ContiguousPlus psi))) (ContiguousPlus (Or phi psi)).
Proof. law. Qed.

(** + of OR: (phi OR psi)+ = phi+ OR psi+ OR (phi OR psi)+ *)
Theorem law_plus_of_or : forall (phi psi : formula), equal (Plus (Or phi psi)) (Or (Or (Plus phi) (Plus psi)) (Plus (Or phi psi))).
Proof. law. Qed.

(* --- Bounded iteration --------------------------------------------------------------------------------------------- *)

(** {1} is one round: phi{1} = phi *)
Theorem law_1_is_one_round : forall (phi : formula), equal phi phi.
Proof. law. Qed.

(** {2} is two rounds: phi{2} = phi ; phi *)
Theorem law_2_is_two_rounds : forall (phi : formula), equal (Seq phi phi) (Seq phi phi).
Proof. law. Qed.

(** {1,2} is one round or two: phi{1,2} = phi OR phi ; phi *)
Theorem law_1_2_is_one_round_or_two : forall (phi : formula), equal (Or phi (Seq phi phi)) (Or phi (Seq phi phi)).
Proof. law. Qed.

(** {1,} is +: phi{1,} = phi+ *)
Theorem law_1_is_plus : forall (phi : formula), equal (Plus phi) (Plus phi).
Proof. law. Qed.

(** {2,} is two rounds or more: phi{2,} = phi ; phi+ *)
Theorem law_2_is_two_rounds_or_more : forall (phi : formula), equal (Seq phi (Plus phi)) (Seq phi (Plus phi)).
Proof. law. Qed.

(** {2,3} begins with a round: phi{2,3} = phi ; phi{1,2} *)
Theorem law_2_3_begins_with_a_round : forall (phi : formula), equal (Seq phi (Or phi (Seq phi phi))) (Seq phi (Or phi (Seq phi phi))).
Proof. law. Qed.

(** rounds add up: phi{2} ; phi{1,2} = phi{3,4} *)
Theorem law_rounds_add_up : forall (phi : formula), equal (Seq (Seq phi phi) (Or phi (Seq phi phi))) (Seq (Seq phi phi) (Or phi (Seq phi phi))).
Proof. law. Qed.

(** OR of numbers of rounds: phi{1,2} OR phi{2,3} = phi{1,3} *)
Theorem law_or_of_numbers_of_rounds : forall (phi : formula), equal (Or (Or phi (Seq phi phi)) (Seq phi (Or phi (Seq phi phi)))) (Or phi (Seq phi (Or phi (Seq phi phi)))).
Proof. law. Qed.

(** rounds of rounds multiply: phi{2}{2} = phi{4} *)
Theorem law_rounds_of_rounds_multiply : forall (phi : formula), equal (Seq (Seq phi phi) (Seq phi phi)) (Seq (Seq phi (Seq phi phi)) phi).
Proof. law. Qed.

(** + of {1,2}: phi{1,2}+ = phi+ *)
Theorem law_plus_of_1_2 : forall (phi : formula), equal (Plus (Or phi (Seq phi phi))) (Plus phi).
Proof. law. Qed.

(** :{1} is one round: phi:{1} = phi *)
Theorem law_contiguous_1_is_one_round : forall (phi : formula), equal phi phi.
Proof. law. Qed.

(** :{2} is two rounds: phi:{2} = phi : phi *)
Theorem law_contiguous_2_is_two_rounds : forall (phi : formula), equal (ContiguousSeq phi phi) (ContiguousSeq phi phi).
Proof. law. Qed.

(** :{1,} is :+: phi:{1,} = phi:+ *)
Theorem law_contiguous_1_is_contiguous_plus : forall (phi : formula), equal (ContiguousPlus phi) (ContiguousPlus phi).
Proof. law. Qed.

(** :{2,3} begins with a round: phi:{2,3} = phi : phi:{1,2} *)
Theorem law_contiguous_2_3_begins_with_a_round : forall (phi : formula), equal (ContiguousSeq phi (Or phi (ContiguousSeq phi phi))) (ContiguousSeq phi (Or phi (ContiguousSeq phi phi))).
Proof. law. Qed.

(** contiguous rounds add up: phi:{2} : phi:{1,2} = phi:{3,4} *)
Theorem law_contiguous_rounds_add_up : forall (phi : formula), equal (ContiguousSeq (ContiguousSeq phi phi) (Or phi (ContiguousSeq phi phi))) (ContiguousSeq (ContiguousSeq phi phi) (Or phi (ContiguousSeq phi phi))).
Proof. law. Qed.

(** :{1,2} is below {1,2}: phi{1,2} OR phi:{1,2} = phi{1,2} *)
Theorem law_contiguous_1_2_is_below_1_2 : forall (phi : formula), equal (Or (Or phi (Seq phi phi)) (Or phi (ContiguousSeq phi phi))) (Or phi (Seq phi phi)).
Proof. includes. Qed.

(* --- OR, AND and ALL ----------------------------------------------------------------------------------------------- *)

(** OR is associative: phi OR psi OR chi = phi OR (psi OR chi) *)
Theorem law_or_is_associative : forall (phi psi chi : formula), equal (Or (Or phi psi) chi) (Or phi (Or psi chi)).
Proof. law. Qed.

(** OR is commutative: phi OR psi = psi OR phi *)
Theorem law_or_is_commutative : forall (phi psi : formula), equal (Or phi psi) (Or psi phi).
Proof. law. Qed.

(** OR is idempotent: phi OR phi = phi *)
Theorem law_or_is_idempotent : forall (phi : formula), equal (Or phi phi) phi.
Proof. law. Qed.

(** AND is associative: phi AND psi AND chi = phi AND (psi AND chi) *)
Theorem law_and_is_associative : forall (phi psi chi : formula), equal (And (And phi psi) chi) (And phi (And psi chi)).
Proof. law. Qed.

(** AND is commutative: phi AND psi = psi AND phi *)
Theorem law_and_is_commutative : forall (phi psi : formula), equal (And phi psi) (And psi phi).
Proof. law. Qed.

(** AND is idempotent: phi AND phi = phi *)
Theorem law_and_is_idempotent : forall (phi : formula), equal (And phi phi) phi.
Proof. law. Qed.

(** OR absorbs AND: phi OR (phi AND psi) = phi *)
Theorem law_or_absorbs_and : forall (phi psi : formula), equal (Or phi (And phi psi)) phi.
Proof. law. Qed.

(** AND absorbs OR: phi AND (phi OR psi) = phi *)
Theorem law_and_absorbs_or : forall (phi psi : formula), equal (And phi (Or phi psi)) phi.
Proof. law. Qed.

(** AND over OR: phi AND (psi OR chi) = (phi AND psi) OR (phi AND chi) *)
Theorem law_and_over_or : forall (phi psi chi : formula), equal (And phi (Or psi chi)) (Or (And phi psi) (And phi chi)).
Proof. law. Qed.

(** OR over AND: phi OR (psi AND chi) = (phi OR psi) AND (phi OR chi) *)
Theorem law_or_over_and : forall (phi psi chi : formula), equal (Or phi (And psi chi)) (And (Or phi psi) (Or phi chi)).
Proof. law. Qed.

(** ALL is associative: phi ALL psi ALL chi = phi ALL (psi ALL chi) *)
Theorem law_all_is_associative : forall (phi psi chi : formula), equal (All (All phi psi) chi) (All phi (All psi chi)).
Proof. law. Qed.

(** ALL is commutative: phi ALL psi = psi ALL phi *)
Theorem law_all_is_commutative : forall (phi psi : formula), equal (All phi psi) (All psi phi).
Proof. law. Qed.

(** ALL over OR: phi ALL (psi OR chi) = (phi ALL psi) OR (phi ALL chi) *)
Theorem law_all_over_or : forall (phi psi chi : formula), equal (All phi (Or psi chi)) (Or (All phi psi) (All phi chi)).
Proof. law. Qed.

(** ALL is above its own operand: (phi ALL phi) OR phi = phi ALL phi *)
Theorem law_all_is_above_its_own_operand : forall (phi : formula), equal (Or (All phi phi) phi) (All phi phi).
Proof. includes. Qed.

(** ALL is above AND: (phi ALL psi) OR (phi AND psi) = phi ALL psi *)
Theorem law_all_is_above_and : forall (phi psi : formula), equal (Or (All phi psi) (And phi psi)) (All phi psi).
Proof. includes. Qed.

(** ALL is above ;: (phi ALL psi) OR phi ; psi = phi ALL psi *)
Theorem law_all_is_above_seq : forall (phi psi : formula), equal (Or (All phi psi) (Seq phi psi)) (All phi psi).
Proof. includes. Qed.

(** ALL is above ; turned round: (phi ALL psi) OR psi ; phi = phi ALL psi *)
Theorem law_all_is_above_seq_turned_round : forall (phi psi : formula), equal (Or (All phi psi) (Seq psi phi)) (All phi psi).
Proof. includes. Qed.

(** AND of what is alike in both: A AND B = A UNLESS A *)
Theorem law_and_of_what_is_alike_in_both : forall (A B : var), A <> B -> equal (And (Event A) (Event B)) (Unless (Event A) (Event A)).
Proof. empty. Qed.

(* --- UNLESS -------------------------------------------------------------------------------------------------------- *)

(** nothing: phi UNLESS phi = psi UNLESS psi *)
Theorem law_nothing : forall (phi psi : formula), equal (Unless phi phi) (Unless psi psi).
Proof. empty. Qed.

(** nothing and OR: (phi UNLESS phi) OR psi = psi *)
Theorem law_nothing_and_or : forall (phi psi : formula), equal (Or (Unless phi phi) psi) psi.
Proof. empty. Qed.

(** nothing and ;: (phi UNLESS phi) ; psi = phi UNLESS phi *)
Theorem law_nothing_and_seq : forall (phi psi : formula), equal (Seq (Unless phi phi) psi) (Unless phi phi).
Proof. empty. Qed.

(** nothing after :: psi : (phi UNLESS phi) = phi UNLESS phi *)
Theorem law_nothing_after_contiguous : forall (phi psi : formula), equal (ContiguousSeq psi (Unless phi phi)) (Unless phi phi).
Proof. empty. Qed.

(** nothing and ALL: (phi UNLESS phi) ALL psi = phi UNLESS phi *)
Theorem law_nothing_and_all : forall (phi psi : formula), equal (All (Unless phi phi) psi) (Unless phi phi).
Proof. empty. Qed.

(** nothing, iterated: (phi UNLESS phi)+ = phi UNLESS phi *)
Theorem law_nothing_iterated : forall (phi : formula), equal (Plus (Unless phi phi)) (Unless phi phi).
Proof. empty. Qed.

(** UNLESS nothing: phi UNLESS (psi UNLESS psi) = phi *)
Theorem law_unless_nothing : forall (phi psi : formula), equal (Unless phi (Unless psi psi)) phi.
Proof. law. Qed.

(** UNLESS over OR: (phi OR psi) UNLESS chi = (phi UNLESS chi) OR (psi UNLESS chi) *)
Theorem law_unless_over_or : forall (phi psi chi : formula), equal (Unless (Or phi psi) chi) (Or (Unless phi chi) (Unless psi chi)).
Proof. law. Qed.

(** UNLESS over AND: (phi AND psi) UNLESS chi = (phi UNLESS chi) AND psi *)
Theorem law_unless_over_and : forall (phi psi chi : formula), equal (Unless (And phi psi) chi) (And (Unless phi chi) psi).
Proof. law. Qed.

(** UNLESS OR: phi UNLESS (psi OR chi) = phi UNLESS psi UNLESS chi *)
Theorem law_unless_or : forall (phi psi chi : formula), equal (Unless phi (Or psi chi)) (Unless (Unless phi psi) chi).
Proof. law. Qed.

(** UNLESS OR, by De Morgan: phi UNLESS (psi OR chi) = (phi UNLESS psi) AND (phi UNLESS chi) *)
Theorem law_unless_or_by_de_morgan : forall (phi psi chi : formula), equal (Unless phi (Or psi chi)) (And (Unless phi psi) (Unless phi chi)).
Proof. law. Qed.

(** UNLESS is idempotent: phi UNLESS psi UNLESS psi = phi UNLESS psi *)
Theorem law_unless_is_idempotent : forall (phi psi : formula), equal (Unless (Unless phi psi) psi) (Unless phi psi).
Proof. law. Qed.

(** UNLESS commutes with UNLESS: phi UNLESS psi UNLESS chi = phi UNLESS chi UNLESS psi *)
Theorem law_unless_commutes_with_unless : forall (phi psi chi : formula), equal (Unless (Unless phi psi) chi) (Unless (Unless phi chi) psi).
Proof. law. Qed.

(** UNLESS what includes it: phi UNLESS (phi OR psi) = phi UNLESS phi *)
Theorem law_unless_what_includes_it : forall (phi psi : formula), equal (Unless phi (Or phi psi)) (Unless phi phi).
Proof. law. Qed.

(** UNLESS +: phi UNLESS psi+ = phi UNLESS psi *)
Theorem law_unless_plus : forall (phi psi : formula), equal (Unless phi (Plus psi)) (Unless phi psi).
Proof. law. Qed.

(** UNLESS :+: phi UNLESS psi:+ = phi UNLESS psi *)
Theorem law_unless_contiguous_plus : forall (phi psi : formula), equal (Unless phi (ContiguousPlus psi)) (Unless phi psi).
Proof. law. Qed.

(** UNLESS IN: phi UNLESS psi IN X = phi UNLESS psi *)
Theorem law_unless_in : forall (phi psi : formula) (X : var), equal (Unless phi (In_ psi X)) (Unless phi psi).
Proof. law. Qed.

(** UNLESS PROJECT: phi UNLESS PROJECT[X](psi) = phi UNLESS psi *)
Theorem law_unless_project : forall (phi psi : formula) (X : var), equal (Unless phi (Project [X] psi)) (Unless phi psi).
Proof. law. Qed.

(** UNLESS NXT: phi UNLESS NXT(psi) = phi UNLESS psi *)
Theorem law_unless_nxt : forall (phi psi : formula), equal (Unless phi (Next psi)) (Unless phi psi).
Proof. selects. Qed.

(** UNLESS LAST: phi UNLESS LAST(psi) = phi UNLESS psi *)
Theorem law_unless_last : forall (phi psi : formula), equal (Unless phi (Last psi)) (Unless phi psi).
Proof. selects. Qed.

(** UNLESS MAX: phi UNLESS MAX(psi) = phi UNLESS psi *)
Theorem law_unless_max : forall (phi psi : formula), equal (Unless phi (Max psi)) (Unless phi psi).
Proof. selects. Qed.

(** UNLESS ALL is UNLESS both: phi UNLESS (psi ALL chi) = (phi UNLESS psi) OR (phi UNLESS chi) *)
Theorem law_unless_all_is_unless_both : forall (phi psi chi : formula), equal (Unless phi (All psi chi)) (Or (Unless phi psi) (Unless phi chi)).
Proof. law. Qed.

(** UNLESS ; only adds: (phi UNLESS psi) OR (phi UNLESS psi ; chi) = phi UNLESS psi ; chi *)
Theorem law_unless_seq_only_adds : forall (phi psi chi : formula), equal (Or (Unless phi psi) (Unless phi (Seq psi chi))) (Unless phi (Seq psi chi)).
Proof. includes. Qed.

(** the guard may look into the parts first: (phi UNLESS chi) ; (psi UNLESS chi) UNLESS chi = phi ; psi UNLESS chi *)
Theorem law_the_guard_may_look_into_the_parts_first : forall (phi psi chi : formula), equal (Unless (Seq (Unless phi chi) (Unless psi chi)) chi) (Unless (Seq phi psi) chi).
Proof. law. Qed.

(** UNLESS a single event, over ;: phi ; psi UNLESS C = (phi UNLESS C) ; (psi UNLESS C) *)
Theorem law_unless_a_single_event_over_seq : forall (phi psi : formula) (C : var), equal (Unless (Seq phi psi) (Event C)) (Seq (Unless phi (Event C)) (Unless psi (Event C))).
Proof. law. Qed.

(** UNLESS a single event, over :: phi : psi UNLESS C = (phi UNLESS C) : (psi UNLESS C) *)
Theorem law_unless_a_single_event_over_contiguous : forall (phi psi : formula) (C : var), equal (Unless (ContiguousSeq phi psi) (Event C)) (ContiguousSeq (Unless phi (Event C)) (Unless psi (Event C))).
Proof. law. Qed.

(** UNLESS a single event, over +: phi+ UNLESS C = (phi UNLESS C)+ *)
Theorem law_unless_a_single_event_over_plus : forall (phi : formula) (C : var), equal (Unless (Plus phi) (Event C)) (Plus (Unless phi (Event C))).
Proof. law. Qed.

(** UNLESS a single event, over :+: phi:+ UNLESS C = (phi UNLESS C):+ *)
Theorem law_unless_a_single_event_over_contiguous_plus : forall (phi : formula) (C : var), equal (Unless (ContiguousPlus phi) (Event C)) (ContiguousPlus (Unless phi (Event C))).
Proof. law. Qed.

(* --- IN ------------------------------------------------------------------------------------------------------------ *)

(** IN is idempotent: phi IN X IN X = phi IN X *)
Theorem law_in_is_idempotent : forall (phi : formula) (X : var), equal (In_ (In_ phi X) X) (In_ phi X).
Proof. law. Qed.

(** IN commutes with IN: phi IN X IN Y = phi IN Y IN X *)
Theorem law_in_commutes_with_in : forall (phi : formula) (X Y : var), X <> Y -> equal (In_ (In_ phi X) Y) (In_ (In_ phi Y) X).
Proof. law. Qed.

(** IN changes no complex event: phi IN X = phi *)
Theorem law_in_changes_no_complex_event : forall (phi : formula) (X : var), equal_events (In_ phi X) phi.
Proof. intros; apply (map_keeps_events event var type_of (bound_as var X)); [apply bound_as_support|reflexivity]. Qed.

(** IN of its own type: A IN A = A *)
Theorem law_in_of_its_own_type : forall (A : var), equal (In_ (Event A) A) (Event A).
Proof. operations; apply map_nothing; [auto with cel|apply event_bound_as]. Qed.

(** IN over OR: (phi OR psi) IN X = phi IN X OR psi IN X *)
Theorem law_in_over_or : forall (phi psi : formula) (X : var), equal (In_ (Or phi psi) X) (Or (In_ phi X) (In_ psi X)).
Proof. law. Qed.

(** IN over ;: (phi ; psi) IN X = phi IN X ; psi IN X *)
Theorem law_in_over_seq : forall (phi psi : formula) (X : var), equal (In_ (Seq phi psi) X) (Seq (In_ phi X) (In_ psi X)).
Proof. law. Qed.

(** IN over :: (phi : psi) IN X = phi IN X : psi IN X *)
Theorem law_in_over_contiguous : forall (phi psi : formula) (X : var), equal (In_ (ContiguousSeq phi psi) X) (ContiguousSeq (In_ phi X) (In_ psi X)).
Proof. law. Qed.

(** IN over ALL: (phi ALL psi) IN X = phi IN X ALL psi IN X *)
Theorem law_in_over_all : forall (phi psi : formula) (X : var), equal (In_ (All phi psi) X) (All (In_ phi X) (In_ psi X)).
Proof. law. Qed.

(** IN over +: phi+ IN X = phi IN X+ *)
Theorem law_in_over_plus : forall (phi : formula) (X : var), equal (In_ (Plus phi) X) (Plus (In_ phi X)).
Proof. law. Qed.

(** IN over :+: phi:+ IN X = phi IN X:+ *)
Theorem law_in_over_contiguous_plus : forall (phi : formula) (X : var), equal (In_ (ContiguousPlus phi) X) (ContiguousPlus (In_ phi X)).
Proof. law. Qed.

(** IN and UNLESS: (phi UNLESS psi) IN X = phi IN X UNLESS psi *)
Theorem law_in_and_unless : forall (phi psi : formula) (X : var), equal (In_ (Unless phi psi) X) (Unless (In_ phi X) psi).
Proof. law. Qed.

(** IN and START: START(phi) IN X = START(phi IN X) *)
Theorem law_in_and_start : forall (phi : formula) (X : var), equal (In_ (Start phi) X) (Start (In_ phi X)).
Proof. law. Qed.

(** IN and STRICT: STRICT(phi) IN X = STRICT(phi IN X) *)
Theorem law_in_and_strict : forall (phi : formula) (X : var), equal (In_ (Strict phi) X) (Strict (In_ phi X)).
Proof. law. Qed.

(** IN and NXT: NXT(phi) IN X = NXT(phi IN X) *)
Theorem law_in_and_nxt : forall (phi : formula) (X : var), equal (In_ (Next phi) X) (Next (In_ phi X)).
Proof. selects. Qed.

(** IN and LAST: LAST(phi) IN X = LAST(phi IN X) *)
Theorem law_in_and_last : forall (phi : formula) (X : var), equal (In_ (Last phi) X) (Last (In_ phi X)).
Proof. selects. Qed.

(** IN and MAX: MAX(phi) IN X = MAX(phi IN X) *)
Theorem law_in_and_max : forall (phi : formula) (X : var), equal (In_ (Max phi) X) (Max (In_ phi X)).
Proof. selects. Qed.

(* --- PROJECT ------------------------------------------------------------------------------------------------------- *)

(** PROJECT of PROJECT: PROJECT[A, X](PROJECT[B, X](phi)) = PROJECT[X](phi) *)
Theorem law_project_of_project : forall (phi : formula) (A B X : var), A <> B -> A <> X -> B <> X -> equal (Project [A; X] (Project [B; X] phi)) (Project [X] phi).
Proof. operations; apply only_only; intros V; cbn; intuition congruence. Qed.

(** PROJECT over OR: PROJECT[X](phi OR psi) = PROJECT[X](phi) OR PROJECT[X](psi) *)
Theorem law_project_over_or : forall (phi psi : formula) (X : var), equal (Project [X] (Or phi psi)) (Or (Project [X] phi) (Project [X] psi)).
Proof. law. Qed.

(** PROJECT over ;: PROJECT[X](phi ; psi) = PROJECT[X](phi) ; PROJECT[X](psi) *)
Theorem law_project_over_seq : forall (phi psi : formula) (X : var), equal (Project [X] (Seq phi psi)) (Seq (Project [X] phi) (Project [X] psi)).
Proof. law. Qed.

(** PROJECT over +: PROJECT[X](phi+) = PROJECT[X](phi)+ *)
Theorem law_project_over_plus : forall (phi : formula) (X : var), equal (Project [X] (Plus phi)) (Plus (Project [X] phi)).
Proof. law. Qed.

(** PROJECT over ALL: PROJECT[X](phi ALL psi) = PROJECT[X](phi) ALL PROJECT[X](psi) *)
Theorem law_project_over_all : forall (phi psi : formula) (X : var), equal (Project [X] (All phi psi)) (All (Project [X] phi) (Project [X] psi)).
Proof. law. Qed.

(** PROJECT and UNLESS: PROJECT[X](phi UNLESS psi) = PROJECT[X](phi) UNLESS psi *)
Theorem law_project_and_unless : forall (phi psi : formula) (X : var), equal (Project [X] (Unless phi psi)) (Unless (Project [X] phi) psi).
Proof. law. Qed.

(** PROJECT to what IN bound: PROJECT[X](phi IN X) = phi *)
Theorem law_project_to_what_in_bound : forall (phi : formula) (X : var), equal_events (Project [X] (In_ phi X)) phi.
Proof. intros; apply only_what_is_bound. Qed.

(** PROJECT without what IN bound: PROJECT[A](phi IN X) = PROJECT[A](phi) *)
Theorem law_project_without_what_in_bound : forall (phi : formula) (A X : var), A <> X -> equal (Project [A] (In_ phi X)) (Project [A] phi).
Proof. law. Qed.

(** PROJECT and FILTER of a variable that is kept: PROJECT[X](phi FILTER P(X)) = PROJECT[X](phi) FILTER P(X) *)
Theorem law_project_and_filter_of_a_variable_that_is_kept : forall (phi : formula) (X : var) (P : event -> bool), equal (Project [X] (Filter phi (Every X P))) (Filter (Project [X] phi) (Every X P)).
Proof. operations; symmetry; apply map_filter; intros; unfold only; cbn; tauto. Qed.

(** PROJECT of what is bound alone: PROJECT[A](A) = A *)
Theorem law_project_of_what_is_bound_alone : forall (A : var), equal (Project [A] (Event A)) (Event A).
Proof. operations; apply map_nothing; [auto with cel|apply event_only]. Qed.

(** PROJECT to nothing, over ;: PROJECT[](phi ; psi) = PROJECT[](phi) ; PROJECT[](psi) *)
Theorem law_project_to_nothing_over_seq : forall (phi psi : formula), equal (Project [] (Seq phi psi)) (Seq (Project [] phi) (Project [] psi)).
Proof. law. Qed.

(** PROJECT to nothing keeps nothing to order: MAX(PROJECT[](phi)) = PROJECT[](phi) *)
Theorem law_project_to_nothing_keeps_nothing_to_order : forall (phi : formula), equal (Max (Project [] phi)) (Project [] phi).
Proof. selects. Qed.

(** PROJECT to what is not there: PROJECT[Z](phi) = PROJECT[](phi) *)
Theorem law_project_to_what_is_not_there : forall (phi : formula) (Z : var), never_binds phi Z -> equal (Project [Z] phi) (Project [] phi).
Proof. intros phi Z N S; autorewrite with cel; apply map_pointwise; intros i j mu K A p; unfold only; cbn; split; [intros [[<-|[]] H]; destruct (N S i j mu p K H)|tauto]. Qed.

(* --- FILTER -------------------------------------------------------------------------------------------------------- *)

(** FILTER is idempotent: phi FILTER P(X) FILTER P(X) = phi FILTER P(X) *)
Theorem law_filter_is_idempotent : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter (Filter phi (Every X P)) (Every X P)) (Filter phi (Every X P)).
Proof. law. Qed.

(** FILTER commutes with FILTER: phi FILTER P(X) FILTER Q(Y) = phi FILTER Q(Y) FILTER P(X) *)
Theorem law_filter_commutes_with_filter : forall (phi : formula) (X Y : var) (P Q : event -> bool), X <> Y -> equal (Filter (Filter phi (Every X P)) (Every Y Q)) (Filter (Filter phi (Every Y Q)) (Every X P)).
Proof. law. Qed.

(** AND in a filter: phi FILTER P(X) AND Q(Y) = phi FILTER P(X) FILTER Q(Y) *)
Theorem law_and_in_a_filter : forall (phi : formula) (X Y : var) (P Q : event -> bool), X <> Y -> equal (Filter phi (Conjunction (Every X P) (Every Y Q))) (Filter (Filter phi (Every X P)) (Every Y Q)).
Proof. law. Qed.

(** OR in a filter: phi FILTER P(X) OR Q(Y) = (phi FILTER P(X)) OR (phi FILTER Q(Y)) *)
Theorem law_or_in_a_filter : forall (phi : formula) (X Y : var) (P Q : event -> bool), X <> Y -> equal (Filter phi (Disjunction (Every X P) (Every Y Q))) (Or (Filter phi (Every X P)) (Filter phi (Every Y Q))).
Proof. law. Qed.

(** AND in a filter is AND: phi FILTER P(X) AND Q(Y) = (phi FILTER P(X)) AND (phi FILTER Q(Y)) *)
Theorem law_and_in_a_filter_is_and : forall (phi : formula) (X Y : var) (P Q : event -> bool), X <> Y -> equal (Filter phi (Conjunction (Every X P) (Every Y Q))) (And (Filter phi (Every X P)) (Filter phi (Every Y Q))).
Proof. law. Qed.

(** AND over OR in a filter: phi FILTER P(X) AND (P(Y) OR Q(Y)) = phi FILTER P(X) AND P(Y) OR P(X) AND Q(Y) *)
Theorem law_and_over_or_in_a_filter : forall (phi : formula) (X Y : var) (P Q : event -> bool), X <> Y -> equal (Filter phi (Conjunction (Every X P) (Disjunction (Every Y P) (Every Y Q)))) (Filter phi (Disjunction (Conjunction (Every X P) (Every Y P)) (Conjunction (Every X P) (Every Y Q)))).
Proof. law. Qed.

(** FILTER over OR: phi OR psi FILTER P(X) = (phi FILTER P(X)) OR (psi FILTER P(X)) *)
Theorem law_filter_over_or : forall (phi psi : formula) (X : var) (P : event -> bool), equal (Filter (Or phi psi) (Every X P)) (Or (Filter phi (Every X P)) (Filter psi (Every X P))).
Proof. law. Qed.

(** FILTER over AND: phi AND psi FILTER P(X) = (phi FILTER P(X)) AND psi *)
Theorem law_filter_over_and : forall (phi psi : formula) (X : var) (P : event -> bool), equal (Filter (And phi psi) (Every X P)) (And (Filter phi (Every X P)) psi).
Proof. law. Qed.

(** FILTER over ;: phi ; psi FILTER P(X) = (phi FILTER P(X)) ; (psi FILTER P(X)) *)
Theorem law_filter_over_seq : forall (phi psi : formula) (X : var) (P : event -> bool), equal (Filter (Seq phi psi) (Every X P)) (Seq (Filter phi (Every X P)) (Filter psi (Every X P))).
Proof. law. Qed.

(** FILTER over :: phi : psi FILTER P(X) = (phi FILTER P(X)) : (psi FILTER P(X)) *)
Theorem law_filter_over_contiguous : forall (phi psi : formula) (X : var) (P : event -> bool), equal (Filter (ContiguousSeq phi psi) (Every X P)) (ContiguousSeq (Filter phi (Every X P)) (Filter psi (Every X P))).
Proof. law. Qed.

(** FILTER over ALL: phi ALL psi FILTER P(X) = (phi FILTER P(X)) ALL (psi FILTER P(X)) *)
Theorem law_filter_over_all : forall (phi psi : formula) (X : var) (P : event -> bool), equal (Filter (All phi psi) (Every X P)) (All (Filter phi (Every X P)) (Filter psi (Every X P))).
Proof. operations; apply (restrict_interleaved var (fun mu => satisfies event var S mu (Every X P))); intros; apply every_union; assumption. Qed.

(** FILTER over +: phi+ FILTER P(X) = (phi FILTER P(X))+ *)
Theorem law_filter_over_plus : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter (Plus phi) (Every X P)) (Plus (Filter phi (Every X P))).
Proof. law. Qed.

(** FILTER over :+: phi:+ FILTER P(X) = (phi FILTER P(X)):+ *)
Theorem law_filter_over_contiguous_plus : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter (ContiguousPlus phi) (Every X P)) (ContiguousPlus (Filter phi (Every X P))).
Proof. law. Qed.

(** FILTER and UNLESS: phi UNLESS psi FILTER P(X) = (phi FILTER P(X)) UNLESS psi *)
Theorem law_filter_and_unless : forall (phi psi : formula) (X : var) (P : event -> bool), equal (Filter (Unless phi psi) (Every X P)) (Unless (Filter phi (Every X P)) psi).
Proof. law. Qed.

(** FILTER and START: START(phi) FILTER P(X) = START(phi FILTER P(X)) *)
Theorem law_filter_and_start : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter (Start phi) (Every X P)) (Start (Filter phi (Every X P))).
Proof. law. Qed.

(** FILTER and STRICT: STRICT(phi) FILTER P(X) = STRICT(phi FILTER P(X)) *)
Theorem law_filter_and_strict : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter (Strict phi) (Every X P)) (Strict (Filter phi (Every X P))).
Proof. law. Qed.

(** FILTER and IN of another variable: phi IN Y FILTER P(X) = (phi FILTER P(X)) IN Y *)
Theorem law_filter_and_in_of_another_variable : forall (phi : formula) (X Y : var) (P : event -> bool), X <> Y -> equal (Filter (In_ phi Y) (Every X P)) (In_ (Filter phi (Every X P)) Y).
Proof. operations; apply map_filter; intros; unfold bound_as; tauto. Qed.

(** FILTER of a variable that is not bound: phi FILTER P(Z) = phi *)
Theorem law_filter_of_a_variable_that_is_not_bound : forall (phi : formula) (Z : var) (P : event -> bool), never_binds phi Z -> equal (Filter phi (Every Z P)) phi.
Proof. intros phi Z P N S; autorewrite with cel; apply and_left; intros i j mu K p L; destruct (N S i j mu p K L). Qed.

(** FILTER of the last IN: (phi FILTER P(X)) IN X FILTER P(X) = phi IN X FILTER P(X) *)
Theorem law_filter_of_the_last_in : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter (In_ (Filter phi (Every X P)) X) (Every X P)) (Filter (In_ phi X) (Every X P)).
Proof. law. Qed.

(** and in brackets: phi FILTER X[x > 0 and y > 0] = phi FILTER X.x > 0 AND X.y > 0 *)
Theorem law_and_in_brackets : forall (phi : formula) (X : var) (P Q : event -> bool), equal (Filter phi (Every X (fun e => ((P e) && (Q e))))) (Filter phi (Conjunction (Every X (fun e => (P e))) (Every X (fun e => (Q e))))).
Proof. brackets andb_true_iff. Qed.

(** not of and in brackets: phi FILTER X[not (x > 0 and y > 0)] = phi FILTER X[not x > 0 or not y > 0] *)
Theorem law_not_of_and_in_brackets : forall (phi : formula) (X : var) (P Q : event -> bool), equal (Filter phi (Every X (fun e => (negb ((P e) && (Q e)))))) (Filter phi (Every X (fun e => ((negb (P e)) || (negb (Q e)))))).
Proof. brackets negb_andb. Qed.

(** not of or in brackets: phi FILTER X[not (x > 0 or y > 0)] = phi FILTER X[not x > 0 and not y > 0] *)
Theorem law_not_of_or_in_brackets : forall (phi : formula) (X : var) (P Q : event -> bool), equal (Filter phi (Every X (fun e => (negb ((P e) || (Q e)))))) (Filter phi (Every X (fun e => ((negb (P e)) && (negb (Q e)))))).
Proof. brackets negb_orb. Qed.

(** not twice in brackets: phi FILTER X[not not x > 0] = phi FILTER X.x > 0 *)
Theorem law_not_twice_in_brackets : forall (phi : formula) (X : var) (P : event -> bool), equal (Filter phi (Every X (fun e => (negb (negb (P e)))))) (Filter phi (Every X (fun e => (P e)))).
Proof. brackets negb_involutive. Qed.

(* --- START --------------------------------------------------------------------------------------------------------- *)

(** START is idempotent: START(START(phi)) = START(phi) *)
Theorem law_start_is_idempotent : forall (phi : formula), equal (Start (Start phi)) (Start phi).
Proof. law. Qed.

(** START over OR: START(phi OR psi) = START(phi) OR START(psi) *)
Theorem law_start_over_or : forall (phi psi : formula), equal (Start (Or phi psi)) (Or (Start phi) (Start psi)).
Proof. law. Qed.

(** START over AND: START(phi AND psi) = START(phi) AND psi *)
Theorem law_start_over_and : forall (phi psi : formula), equal (Start (And phi psi)) (And (Start phi) psi).
Proof. law. Qed.

(** START of ;: START(phi ; psi) = START(phi) ; psi *)
Theorem law_start_of_seq : forall (phi psi : formula), equal (Start (Seq phi psi)) (Seq (Start phi) psi).
Proof. law. Qed.

(** START of :: START(phi : psi) = START(phi) : psi *)
Theorem law_start_of_contiguous : forall (phi psi : formula), equal (Start (ContiguousSeq phi psi)) (ContiguousSeq (Start phi) psi).
Proof. law. Qed.

(** START of +: START(phi+) = START(phi) OR START(phi) ; phi+ *)
Theorem law_start_of_plus : forall (phi : formula), equal (Start (Plus phi)) (Or (Start phi) (Seq (Start phi) (Plus phi))).
Proof. law. Qed.

(** START of :+: START(phi:+) = START(phi) OR START(phi) : phi:+ *)
Theorem law_start_of_contiguous_plus : forall (phi : formula), equal (Start (ContiguousPlus phi)) (Or (Start phi) (ContiguousSeq (Start phi) (ContiguousPlus phi))).
Proof. law. Qed.

(** START after :: phi : START(psi) = phi : psi *)
Theorem law_start_after_contiguous : forall (phi psi : formula), equal (ContiguousSeq phi (Start psi)) (ContiguousSeq phi psi).
Proof. law. Qed.

(** START of UNLESS: START(phi UNLESS psi) = START(phi) UNLESS psi *)
Theorem law_start_of_unless : forall (phi psi : formula), equal (Start (Unless phi psi)) (Unless (Start phi) psi).
Proof. law. Qed.

(** START of STRICT: START(STRICT(phi)) = STRICT(START(phi)) *)
Theorem law_start_of_strict : forall (phi : formula), equal (Start (Strict phi)) (Strict (Start phi)).
Proof. law. Qed.

(** START of NXT: START(NXT(phi)) = NXT(START(phi)) *)
Theorem law_start_of_nxt : forall (phi : formula), equal (Start (Next phi)) (Next (Start phi)).
Proof. selects. Qed.

(** START of MAX: START(MAX(phi)) = MAX(START(phi)) *)
Theorem law_start_of_max : forall (phi : formula), equal (Start (Max phi)) (Max (Start phi)).
Proof. selects. Qed.

(* --- Selection strategies ------------------------------------------------------------------------------------------ *)

(** STRICT is idempotent: STRICT(STRICT(phi)) = STRICT(phi) *)
Theorem law_strict_is_idempotent : forall (phi : formula), equal (Strict (Strict phi)) (Strict phi).
Proof. law. Qed.

(** NXT is idempotent: NXT(NXT(phi)) = NXT(phi) *)
Theorem law_nxt_is_idempotent : forall (phi : formula), equal (Next (Next phi)) (Next phi).
Proof. selects. Qed.

(** LAST is idempotent: LAST(LAST(phi)) = LAST(phi) *)
Theorem law_last_is_idempotent : forall (phi : formula), equal (Last (Last phi)) (Last phi).
Proof. selects. Qed.

(** MAX is idempotent: MAX(MAX(phi)) = MAX(phi) *)
Theorem law_max_is_idempotent : forall (phi : formula), equal (Max (Max phi)) (Max phi).
Proof. selects. Qed.

(** NXT of MAX: NXT(MAX(phi)) = NXT(phi) *)
Theorem law_nxt_of_max : forall (phi : formula), equal (Next (Max phi)) (Next phi).
Proof. selects. Qed.

(** LAST of MAX: LAST(MAX(phi)) = LAST(phi) *)
Theorem law_last_of_max : forall (phi : formula), equal (Last (Max phi)) (Last phi).
Proof. selects. Qed.

(** MAX of NXT: MAX(NXT(phi)) = NXT(phi) *)
Theorem law_max_of_nxt : forall (phi : formula), equal (Max (Next phi)) (Next phi).
Proof. selects. Qed.

(** MAX of LAST: MAX(LAST(phi)) = LAST(phi) *)
Theorem law_max_of_last : forall (phi : formula), equal (Max (Last phi)) (Last phi).
Proof. selects. Qed.

(** NXT of LAST: NXT(LAST(phi)) = LAST(phi) *)
Theorem law_nxt_of_last : forall (phi : formula), equal (Next (Last phi)) (Last phi).
Proof. selects. Qed.

(** LAST of NXT: LAST(NXT(phi)) = NXT(phi) *)
Theorem law_last_of_nxt : forall (phi : formula), equal (Last (Next phi)) (Next phi).
Proof. selects. Qed.

(** NXT is below MAX: NXT(phi) AND MAX(phi) = NXT(phi) *)
Theorem law_nxt_is_below_max : forall (phi : formula), equal (And (Next phi) (Max phi)) (Next phi).
Proof. selects. Qed.

(** LAST is below MAX: LAST(phi) AND MAX(phi) = LAST(phi) *)
Theorem law_last_is_below_max : forall (phi : formula), equal (And (Last phi) (Max phi)) (Last phi).
Proof. selects. Qed.

(** STRICT is below its operand: STRICT(phi) OR phi = phi *)
Theorem law_strict_is_below_its_operand : forall (phi : formula), equal (Or (Strict phi) phi) phi.
Proof. law. Qed.

(** NXT is below its operand: NXT(phi) OR phi = phi *)
Theorem law_nxt_is_below_its_operand : forall (phi : formula), equal (Or (Next phi) phi) phi.
Proof. selects. Qed.

(** LAST is below its operand: LAST(phi) OR phi = phi *)
Theorem law_last_is_below_its_operand : forall (phi : formula), equal (Or (Last phi) phi) phi.
Proof. selects. Qed.

(** MAX is below its operand: MAX(phi) OR phi = phi *)
Theorem law_max_is_below_its_operand : forall (phi : formula), equal (Or (Max phi) phi) phi.
Proof. selects. Qed.

(** STRICT over OR: STRICT(phi OR psi) = STRICT(phi) OR STRICT(psi) *)
Theorem law_strict_over_or : forall (phi psi : formula), equal (Strict (Or phi psi)) (Or (Strict phi) (Strict psi)).
Proof. law. Qed.

(** STRICT over AND: STRICT(phi AND psi) = STRICT(phi) AND psi *)
Theorem law_strict_over_and : forall (phi psi : formula), equal (Strict (And phi psi)) (And (Strict phi) psi).
Proof. law. Qed.

(** NXT of OR in two steps: NXT(phi OR psi) = NXT(NXT(phi) OR NXT(psi)) *)
Theorem law_nxt_of_or_in_two_steps : forall (phi psi : formula), equal (Next (Or phi psi)) (Next (Or (Next phi) (Next psi))).
Proof. selects. Qed.

(** LAST of OR in two steps: LAST(phi OR psi) = LAST(LAST(phi) OR LAST(psi)) *)
Theorem law_last_of_or_in_two_steps : forall (phi psi : formula), equal (Last (Or phi psi)) (Last (Or (Last phi) (Last psi))).
Proof. selects. Qed.

(** MAX of OR in two steps: MAX(phi OR psi) = MAX(MAX(phi) OR MAX(psi)) *)
Theorem law_max_of_or_in_two_steps : forall (phi psi : formula), equal (Max (Or phi psi)) (Max (Or (Max phi) (Max psi))).
Proof. selects. Qed.

(** STRICT and UNLESS: STRICT(phi UNLESS psi) = STRICT(phi) UNLESS psi *)
Theorem law_strict_and_unless : forall (phi psi : formula), equal (Strict (Unless phi psi)) (Unless (Strict phi) psi).
Proof. law. Qed.

(** NXT and UNLESS: NXT(phi UNLESS psi) = NXT(phi) UNLESS psi *)
Theorem law_nxt_and_unless : forall (phi psi : formula), equal (Next (Unless phi psi)) (Unless (Next phi) psi).
Proof. selects. Qed.

(** LAST and UNLESS: LAST(phi UNLESS psi) = LAST(phi) UNLESS psi *)
Theorem law_last_and_unless : forall (phi psi : formula), equal (Last (Unless phi psi)) (Unless (Last phi) psi).
Proof. selects. Qed.

(** MAX and UNLESS: MAX(phi UNLESS psi) = MAX(phi) UNLESS psi *)
Theorem law_max_and_unless : forall (phi psi : formula), equal (Max (Unless phi psi)) (Unless (Max phi) psi).
Proof. selects. Qed.

(** NXT of ; in two steps: NXT(phi ; psi) = NXT(NXT(phi) ; NXT(psi)) *)
Theorem law_nxt_of_seq_in_two_steps : forall (phi psi : formula), equal (Next (Seq phi psi)) (Next (Seq (Next phi) (Next psi))).
Proof. selects. Qed.

(** LAST of ; in two steps: LAST(phi ; psi) = LAST(LAST(phi) ; LAST(psi)) *)
Theorem law_last_of_seq_in_two_steps : forall (phi psi : formula), equal (Last (Seq phi psi)) (Last (Seq (Last phi) (Last psi))).
Proof. selects. Qed.

(** MAX of ; in two steps: MAX(phi ; psi) = MAX(MAX(phi) ; MAX(psi)) *)
Theorem law_max_of_seq_in_two_steps : forall (phi psi : formula), equal (Max (Seq phi psi)) (Max (Seq (Max phi) (Max psi))).
Proof. selects. Qed.

(** NXT of + in two steps: NXT(phi+) = NXT(NXT(phi)+) *)
Theorem law_nxt_of_plus_in_two_steps : forall (phi : formula), equal (Next (Plus phi)) (Next (Plus (Next phi))).
Proof. selects. Qed.

(** LAST of + in two steps: LAST(phi+) = LAST(LAST(phi)+) *)
Theorem law_last_of_plus_in_two_steps : forall (phi : formula), equal (Last (Plus phi)) (Last (Plus (Last phi))).
Proof. selects. Qed.

(** MAX of + in two steps: MAX(phi+) = MAX(MAX(phi)+) *)
Theorem law_max_of_plus_in_two_steps : forall (phi : formula), equal (Max (Plus phi)) (Max (Plus (Max phi))).
Proof. selects. Qed.

(** MAX of : in two steps: MAX(phi : psi) = MAX(MAX(phi) : MAX(psi)) *)
Theorem law_max_of_contiguous_in_two_steps : forall (phi psi : formula), equal (Max (ContiguousSeq phi psi)) (Max (ContiguousSeq (Max phi) (Max psi))).
Proof. selects. Qed.

(** MAX of :+ in two steps: MAX(phi:+) = MAX(MAX(phi):+) *)
Theorem law_max_of_contiguous_plus_in_two_steps : forall (phi : formula), equal (Max (ContiguousPlus phi)) (Max (ContiguousPlus (Max phi))).
Proof. selects. Qed.

(** NXT of : in two steps: NXT(phi : psi) = NXT(phi : NXT(psi)) *)
Theorem law_nxt_of_contiguous_in_two_steps : forall (phi psi : formula), equal (Next (ContiguousSeq phi psi)) (Next (ContiguousSeq phi (Next psi))).
Proof. selects. Qed.

(** LAST of : in two steps: LAST(phi : psi) = LAST(LAST(phi) : psi) *)
Theorem law_last_of_contiguous_in_two_steps : forall (phi psi : formula), equal (Last (ContiguousSeq phi psi)) (Last (ContiguousSeq (Last phi) psi)).
Proof. selects. Qed.

(** MAX of ALL in two steps: MAX(phi ALL psi) = MAX(MAX(phi) ALL MAX(psi)) *)
Theorem law_max_of_all_in_two_steps : forall (phi psi : formula), equal_events (Max (All phi psi)) (Max (All (Max phi) (Max psi))).
Proof. intros; apply max_of_all, var_dec. Qed.

(** STRICT over :: STRICT(phi : psi) = STRICT(phi) : STRICT(psi) *)
Theorem law_strict_over_contiguous : forall (phi psi : formula), equal (Strict (ContiguousSeq phi psi)) (ContiguousSeq (Strict phi) (Strict psi)).
Proof. law. Qed.

(** STRICT over :+: STRICT(phi:+) = STRICT(phi):+ *)
Theorem law_strict_over_contiguous_plus : forall (phi : formula), equal (Strict (ContiguousPlus phi)) (ContiguousPlus (Strict phi)).
Proof. law. Qed.

(** STRICT of ; is :: STRICT(phi ; psi) = STRICT(phi) : STRICT(psi) *)
Theorem law_strict_of_seq_is_contiguous : forall (phi psi : formula), always_binds phi -> always_binds psi -> equal (Strict (Seq phi psi)) (ContiguousSeq (Strict phi) (Strict psi)).
Proof. intros phi psi B C S; autorewrite with cel; apply strict_sequenced; auto with cel; apply (meaning_bounded event var type_of var_dec). Qed.

(** STRICT of + is :+: STRICT(phi+) = STRICT(phi):+ *)
Theorem law_strict_of_plus_is_contiguous_plus : forall (phi : formula), always_binds phi -> equal (Strict (Plus phi)) (ContiguousPlus (Strict phi)).
Proof. intros phi B S; autorewrite with cel; apply strict_plus; auto with cel; apply (meaning_bounded event var type_of var_dec). Qed.

(** STRICT of an event: STRICT(A) = A *)
Theorem law_strict_of_an_event : forall (A : var), equal (Strict (Event A)) (Event A).
Proof. operations; apply and_left; intros i j mu K; eapply event_unbroken; eauto. Qed.

End Laws.
