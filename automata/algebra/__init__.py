"""Boolean algebras of tuple predicates: what an automaton has to know about the labels of its transitions."""
