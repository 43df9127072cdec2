(** The definition as OCaml: exec, which exec_is_lang (Exec.v) and valuations_are_words (Bridge.v) show to be the meaning. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Cerify Require Import Cel Words Exec.

Extraction Language OCaml.
Extraction "cel.ml" exec.
