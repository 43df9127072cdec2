"""Boolean algebras of tuple predicates, which label the transitions of automata."""
