(** The names of Cel.v and Algebra.v without their parameters; loaded in sections that have event, var and type_of. *)

Notation formula := (formula event var).
Notation valuation := (valuation var).
Notation meanings := (meanings var).
Notation meaning := (meaning event var type_of).
Notation same := (same var).
Notation sup := (sup var).
Notation first := (first var).
Notation last := (last var).
Notation union := (union var).
Notation sequenced := (sequenced var).
Notation contiguous := (contiguous var).
Notation sub := (sub var).
Notation equ := (equ var).
Notation good := (good var).
Notation either := (either var).
Notation restricted := (restricted var).
Notation mapped := (mapped var).
Notation iterated := (iterated var).
Notation interleaved := (interleaved var).
Notation clear := (clear var).
Notation bound_as := (bound_as var).
Notation only := (only var).
