"""Prints what CLIPS 6.4 (clipspy 1.0.6) answers to rules of README.md, without cerify."""

import clips


def show(what, rule, *facts, duplicates=False):
    environment, found = clips.Environment(), []
    environment.eval(f"(set-fact-duplication {'TRUE' if duplicates else 'FALSE'})")
    environment.define_function(lambda *values: found.append(values), name="found")
    environment.build(rule)
    for fact in facts:
        environment.assert_string(fact)
    environment.run()
    print(f"{what}, on {' '.join(facts)}: {found}")


rule = "(defrule pairs ?a <- (A) ?b <- (B) => (found (fact-index ?a) (fact-index ?b)))"
show("A and B", rule, "(A)", "(A)", "(B)")
show("A and B, duplicates allowed", rule, "(A)", "(A)", "(B)", duplicates=True)
for test in ("(eq ?x ?y)", "(= ?x ?y)"):
    show(test, f"(defrule same (A ?x) (B ?y) (test {test}) => (found ?x ?y))", "(A 1)", "(B 1.0)")
show("A ?x, B ?x", "(defrule same (A ?x) (B ?x) => (found ?x))", "(A 1)", "(B 1.0)")
show("the order of firing", "(defrule each (A ?x) => (found ?x))", "(A 1)", "(A 2)", "(A 3)")
