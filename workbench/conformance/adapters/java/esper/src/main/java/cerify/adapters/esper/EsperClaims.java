package cerify.adapters.esper;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.outline.Claims;
import cerify.adapters.protocol.Skip;

/** What CEL can express and this adapter does not translate to EPL, with the reasons. */
final class EsperClaims implements Claims {

    @Override
    public Skip operator(Formula phi) {
        if (phi instanceof Formula.Start) {
            return Manual.MATCH_RECOGNIZE.skip("START: a row pattern has no anchor at the beginning of the stream");
        }
        if (phi instanceof Formula.Combination combination) {
            return switch (combination.combiner()) {
                case AND -> Manual.PATTERNS.skip(
                        "AND asks for one set of events that matches both sides; 'and' of EPL joins two matches");
                case ALL -> Manual.PATTERNS.skip(
                        "ALL interleaves its sides; a row pattern is a regular expression, and only EPL patterns have 'and'");
                case UNLESS -> Manual.PATTERNS.skip(
                        "UNLESS asks that no match of its right side lies anywhere in the interval; 'not' of EPL is about "
                                + "events from the activation of a subexpression on");
            };
        }
        if (phi instanceof Formula.Selection selection) {
            return switch (selection.strategy()) {
                case NEXT -> Manual.PATTERNS.skip(
                        "NXT below the outermost operator: a chain of -> is a query of its own, not a part of a row pattern");
                case LAST -> Manual.MATCH_RECOGNIZE.skip("LAST: EPL has no choice of the most recent among the matches");
                case MAX -> Manual.MATCH_RECOGNIZE.skip("MAX: EPL has no choice of the matches that are largest as sets");
                case STRICT -> throw new IllegalStateException("STRICT is translated");
            };
        }
        if (phi instanceof Formula.Within) {
            return Manual.MATCH_RECOGNIZE.skip("WITHIN: 'interval' of EPL delays the output to the end of the window");
        }
        if (phi instanceof Formula.PartitionBy) {
            return Manual.MATCH_RECOGNIZE.skip(
                    "PARTITION BY: 'partition by' of EPL makes events neighbours that are not neighbours in the stream");
        }
        throw new IllegalStateException("no reason to skip " + phi);
    }

    @Override
    public Skip predicate(Condition.Named atom) {
        return Manual.MATCH_RECOGNIZE.skip("a user-defined predicate has no definition in EPL: " + atom.name());
    }

    @Override
    public Skip correlationInIteration() {
        return Manual.MATCH_RECOGNIZE.skip("a correlated filter under an iteration compares events of the same round; a "
                + "variable of EPL has the events of all rounds together");
    }

    @Override
    public Skip contiguityOfProjection() {
        return Manual.MATCH_RECOGNIZE.skip("contiguity after a projection looks at the events that are still bound; a row "
                + "pattern always looks at all the rows that it matched");
    }
}
