package cerify.adapters.flink;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.outline.Claims;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.protocol.Schema;
import cerify.adapters.protocol.Skip;

/** What CEL can express and the Pattern API cannot, or this adapter does not translate, with the reasons. */
final class FlinkClaims implements Claims {

    private static final String MANUAL = "https://nightlies.apache.org/flink/flink-docs-release-2.3/docs/libs/cep/#";

    /** A skip with a section of Flink's manual. */
    static Skip skip(String reason, String section) {
        return new Skip(reason, MANUAL + section);
    }

    @Override
    public Skip operator(Formula phi) {
        if (phi instanceof Formula.Start) {
            return skip("START: a pattern has no anchor at the beginning of the stream", "the-pattern-api");
        }
        if (phi instanceof Formula.Combination combination) {
            return skip(combination.combiner() + ": a pattern is one chain of steps", "combining-patterns");
        }
        if (phi instanceof Formula.Selection selection) {
            return skip(
                    selection.strategy() + ": skip strategies and contiguity look at where matches begin, and do not "
                            + "choose among the matches that end at an event",
                    "after-match-skip-strategy");
        }
        if (phi instanceof Formula.Within) {
            return skip("WITHIN inside a formula or around a projection: a window is of the whole pattern", "combining-patterns");
        }
        return skip("PARTITION BY inside a formula or around a projection: a stream is keyed as a whole", "the-pattern-api");
    }

    @Override
    public Skip predicate(Condition.Named atom) {
        return skip("a user-defined predicate has no definition here: " + atom.name(), "conditions");
    }

    @Override
    public Skip correlationInIteration() {
        return skip(
                "a correlated filter under an iteration compares events of the same round; a condition gets the events "
                        + "of all rounds",
                "conditions");
    }

    @Override
    public Skip contiguityOfProjection() {
        return skip("contiguity after a projection looks at the events that are still bound", "combining-patterns");
    }

    /** The reason why an iteration of a choice of sequences is not translated. */
    Skip choiceInIteration() {
        return skip("an iteration of a choice of sequences: a pattern has no alternatives but of conditions", "groups-of-patterns");
    }

    /** Throws a Skip if a filter or a key is an attribute with values of several types. */
    void requireOneType(Outline outline, Hoisted hoisted, Schema schema) {
        for (String attribute : schema.mixed()) {
            if (outline.attributes().contains(attribute) || hoisted.keys().contains(attribute)) {
                throw skip("the events have values of several types for " + attribute, "conditions");
            }
        }
    }
}
