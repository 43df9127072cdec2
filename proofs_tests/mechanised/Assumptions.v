(** Prints what the theorems rest on: nothing. *)

From Cerify Require Import Theorem62 Bridge Exec.

Print Assumptions theorem_6_2.
Print Assumptions valuations_are_words.
Print Assumptions theorem_6_2_valuations.
Print Assumptions exec_is_lang.
