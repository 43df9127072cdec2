(** The tactics that prove the laws (Laws.v): [law] proves most of them, [selects] those of NXT, LAST and MAX. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Export Cel Words Compile Theorem62 Bridge Algebra Distribute Rules Strategies Selection.

#[export] Existing Instance equ_equivalence.
#[export] Existing Instance same_equivalence.

#[export] Hint Resolve meaning_good sequenced_joining contiguous_joining either_good iter_good join_good every_additive
  event_additive bound_as_homomorphism only_homomorphism bound_as_support : cel.
#[export] Hint Resolve next_order last_order below_order next_linear last_linear next_above_inclusion last_above_inclusion
  next_keeps_first last_keeps_last below_keeps_first below_keeps_last chosen_cofinal : cel.

#[export] Hint Rewrite in_clause project_clause every_clause filter_and_clause filter_or_clause seq_clause plus_clause
  contiguous_seq_clause contiguous_plus_clause start_clause or_clause and_clause all_clause unless_clause strict_clause : cel.

(** The formulas as operations on meanings. *)
Ltac operations := intros; intros S; autorewrite with cel.
Ltac selections := operations; match goal with D : forall x y : _, {x = y} + {x <> y} |- _ =>
  repeat first [ setoid_rewrite max_clause | setoid_rewrite (next_clause _ _ _ D) | setoid_rewrite (last_clause _ _ _ D)
               | progress autorewrite with cel ] end.

Tactic Notation "by_rule" uconstr(rule) := solve [apply rule; auto with cel].
Tactic Notation "by_order" uconstr(rule) := solve [eapply rule; eauto 3 with cel].

(** One of the equations of Algebra.v, Distribute.v and Rules.v. *)
Ltac rule := first
  [ by_rule join_assoc | by_rule join_or_l | by_rule join_or_r | by_rule sequenced_contiguous | by_rule contiguous_then_sequenced
  | by_rule iter_left | by_rule iter_right | by_rule iter_idempotent | by_rule iter_snoc | by_rule iter_add | by_rule iter_slides
  | by_rule iter_or | by_rule iter_one_or_two | by_rule rounds_of_either | by_rule plus_of_contiguous_plus
  | by_rule contiguous_plus_of_plus | by_rule plus_twice | by_rule rounds_or_rounds | by_rule two_of_two
  | by_rule restrict_sequenced | by_rule restrict_contiguous | by_rule restrict_plus | by_rule restrict_contiguous_plus
  | by_rule start_sequenced | by_rule start_contiguous | by_rule start_plus | by_rule start_contiguous_plus
  | by_rule start_after_contiguous | by_rule strict_contiguous | by_rule strict_contiguous_plus
  | by_rule map_sequenced | by_rule map_contiguous | by_rule map_plus | by_rule map_contiguous_plus | by_rule map_interleaved
  | by_rule map_or | by_rule map_clear | by_rule map_start | by_rule map_strict | by_rule bound_twice | by_rule bound_both
  | by_rule only_after_bound | by_rule filter_again | by_rule interleaved_comm | by_rule interleaved_assoc | by_rule interleaved_or
  | by_rule unless_either | by_rule unless_or | by_rule nothing_included | by_rule unless_nothing | by_rule guard_inside
  | by_rule unless_plus | by_rule unless_mapped | by_rule unless_all ].

(** What follows from the truth tables of the connectives. *)
Ltac logic := intros ? ? ?; unfold Algebra.either, Algebra.restricted, cond; cbn [satisfies]; unfold every; tauto.

Ltac law := operations; first [reflexivity | logic | rule].

(** One side of OR, or of AND, includes the other. *)
Ltac includes := operations; first [apply or_left | apply or_right | apply and_left | apply and_right]; first
  [ by_rule contiguous_sequenced | by_rule contiguous_plus_below | by_rule contiguous_rounds_below | by_rule all_above_itself
  | by_rule interleaved_same | by_rule interleaved_sequenced | by_rule all_above_turned
  | solve [apply unless_adds, occurs_in_sequence; auto with cel] ].

(** What is made of phi UNLESS phi. *)
Ltac empty := operations; rewrite ?nothing_unless by auto with cel; first
  [ reflexivity | apply or_nothing | apply sequenced_nothing | apply contiguous_nothing | apply interleaved_nothing
  | apply plus_nothing | apply alike_in_both; assumption ].

(** A tautology of Booleans in brackets. *)
Ltac brackets rule := operations; intros ? ? ?; unfold Algebra.restricted, cond; cbn [satisfies]; unfold every; setoid_rewrite rule; firstorder.

(** The laws of what is chosen. *)
Ltac selects := selections; first
  [ by_rule chosen_again | by_rule chosen_unless | by_order chosen_or | by_order chosen_sequenced | by_order chosen_plus
  | by_rule chosen_mapped | by_order chosen_mapped | by_order unless_chosen | by_order chosen_one | by_order chosen_of_max
  | by_order max_contiguous | by_order max_contiguous_plus | by_order chosen_contiguous_left | by_order chosen_contiguous_right
  | by_order start_chosen | solve [apply or_right, chosen_sub] | by_rule only_nothing_max
  | solve [apply and_left; eapply chosen_below_max; eauto 3 with cel] ].
