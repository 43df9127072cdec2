(** Prints each theorem with its statement, where the variables of sections are premises, and what it rests on: nothing. The
    Makefile asks the same of Laws.v. *)

From Cerify Require Import Theorem62 Bridge Exec Determinize Evaluate Finite Enumerated Checker Printed Strategies Selection Disjunctive PushFilters Expressions FiniteExpressions Derived Sase Keys.

Check theorem_6_2.
Print Assumptions theorem_6_2.
Check valuations_are_words.
Print Assumptions valuations_are_words.
Check theorem_6_2_valuations.
Print Assumptions theorem_6_2_valuations.
Check exec_is_lang.
Print Assumptions exec_is_lang.
Check proposition_5_5.
Print Assumptions proposition_5_5.
Check one_run.
Print Assumptions one_run.
Check one_for_each_run.
Print Assumptions one_for_each_run.
Check algorithm_2.
Print Assumptions algorithm_2.
Check no_repetitions.
Print Assumptions no_repetitions.
Check finitely_many_states.
Print Assumptions finitely_many_states.
Check theorem_6_2_finite.
Print Assumptions theorem_6_2_finite.
Check proposition_5_5_finite.
Print Assumptions proposition_5_5_finite.
Check deterministic_finite.
Print Assumptions deterministic_finite.
Check put_out_is_meaning.
Print Assumptions put_out_is_meaning.
Check put_out_once.
Print Assumptions put_out_once.
Check checks_sound.
Print Assumptions checks_sound.
Check checker_is_sound.
Print Assumptions checker_is_sound.
Check certified_valuations.
Print Assumptions certified_valuations.
Check certified_events.
Print Assumptions certified_events.
Check a_certificate.
Print Assumptions a_certificate.
Check a_pair_is_missing.
Print Assumptions a_pair_is_missing.
Check one_is_final_and_the_other_is_not.
Print Assumptions one_is_final_and_the_other_is_not.
Check a_third_round.
Print Assumptions a_third_round.
Check is_not_printed.
Print Assumptions is_not_printed.
Check is_compiled.
Print Assumptions is_compiled.
Check unless_an_earlier_b.
Print Assumptions unless_an_earlier_b.
Check is_not_printed_either.
Print Assumptions is_not_printed_either.
Check is_compiled_too.
Print Assumptions is_compiled_too.
Check something_lies_between.
Print Assumptions something_lies_between.
Check nothing_does_as_printed.
Print Assumptions nothing_does_as_printed.
Check it_does_as_compiled.
Print Assumptions it_does_as_compiled.
Check next_order.
Print Assumptions next_order.
Check last_order.
Print Assumptions last_order.
Check next_linear.
Print Assumptions next_linear.
Check last_linear.
Print Assumptions last_linear.
Check disjuncts_have_no_or.
Print Assumptions disjuncts_have_no_or.
Check disjuncts_mean_the_same.
Print Assumptions disjuncts_mean_the_same.
Check disjunctive_equal.
Print Assumptions disjunctive_equal.
Check push_filters_equal.
Print Assumptions push_filters_equal.
Check filters_are_pushed.
Print Assumptions filters_are_pushed.
Check prefix_free_searched.
Print Assumptions prefix_free_searched.
Check corollary_1.
Print Assumptions corollary_1.
Check theorem_1.
Print Assumptions theorem_1.
Check no_look_ahead.
Print Assumptions no_look_ahead.
Check all_searched.
Print Assumptions all_searched.
Check corollary_1_finite.
Print Assumptions corollary_1_finite.
Check theorem_1_finite.
Print Assumptions theorem_1_finite.
Check meaning_or.
Print Assumptions meaning_or.
Check meaning_prior.
Print Assumptions meaning_prior.
Check meaning_first.
Print Assumptions meaning_first.
Check meaning_sequence.
Print Assumptions meaning_sequence.
Check meaning_nth.
Print Assumptions meaning_nth.
Check meaning_then.
Print Assumptions meaning_then.
Check meaning_first_after.
Print Assumptions meaning_first_after.
Check meaning_before.
Print Assumptions meaning_before.
Check meaning_happened.
Print Assumptions meaning_happened.
Check meaning_series.
Print Assumptions meaning_series.
Check formulas_are_conditions.
Print Assumptions formulas_are_conditions.
Check runs_are_matches.
Print Assumptions runs_are_matches.
Check partition_is_a_filter.
Print Assumptions partition_is_a_filter.
Check window_is_a_filter.
Print Assumptions window_is_a_filter.
Check two_keys_are_enough.
Print Assumptions two_keys_are_enough.
Check zones_are_real.
Print Assumptions zones_are_real.
