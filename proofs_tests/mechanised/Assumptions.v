(** Prints what the theorems rest on: nothing. *)

From Cerify Require Import Theorem62 Bridge Exec Determinize Evaluate Checker Strategies Selection Disjunctive Expressions Sase.

Print Assumptions theorem_6_2.
Print Assumptions valuations_are_words.
Print Assumptions theorem_6_2_valuations.
Print Assumptions exec_is_lang.
Print Assumptions proposition_5_5.
Print Assumptions one_run.
Print Assumptions algorithm_2.
Print Assumptions no_repetitions.
Print Assumptions checker_is_sound.
Print Assumptions certified_valuations.
Print Assumptions certified_events.
Print Assumptions next_order.
Print Assumptions last_order.
Print Assumptions next_linear.
Print Assumptions last_linear.
Print Assumptions disjuncts_have_no_or.
Print Assumptions disjunctive_equal.
Print Assumptions theorem_1.
Print Assumptions corollary_1.
Print Assumptions runs_are_matches.
