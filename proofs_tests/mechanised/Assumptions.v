(** Prints what the theorems rest on: nothing. *)

From Cerify Require Import Theorem62 Bridge Exec Determinize Evaluate Finite Enumerated Checker Printed Strategies Selection Disjunctive PushFilters Expressions Sase.

Print Assumptions theorem_6_2.
Print Assumptions valuations_are_words.
Print Assumptions theorem_6_2_valuations.
Print Assumptions exec_is_lang.
Print Assumptions proposition_5_5.
Print Assumptions one_run.
Print Assumptions one_for_each_run.
Print Assumptions algorithm_2.
Print Assumptions no_repetitions.
Print Assumptions finitely_many_states.
Print Assumptions theorem_6_2_finite.
Print Assumptions put_out_is_meaning.
Print Assumptions put_out_once.
Print Assumptions checks_sound.
Print Assumptions checker_is_sound.
Print Assumptions certified_valuations.
Print Assumptions certified_events.
Print Assumptions a_certificate.
Print Assumptions a_pair_is_missing.
Print Assumptions one_is_final_and_the_other_is_not.
Print Assumptions a_third_round.
Print Assumptions is_not_printed.
Print Assumptions is_compiled.
Print Assumptions unless_an_earlier_b.
Print Assumptions is_not_printed_either.
Print Assumptions is_compiled_too.
Print Assumptions something_lies_between.
Print Assumptions nothing_does_as_printed.
Print Assumptions it_does_as_compiled.
Print Assumptions next_order.
Print Assumptions last_order.
Print Assumptions next_linear.
Print Assumptions last_linear.
Print Assumptions disjuncts_have_no_or.
Print Assumptions disjuncts_mean_the_same.
Print Assumptions disjunctive_equal.
Print Assumptions push_filters_equal.
Print Assumptions filters_are_pushed.
Print Assumptions corollary_1.
Print Assumptions theorem_1.
Print Assumptions no_look_ahead.
Print Assumptions runs_are_matches.
