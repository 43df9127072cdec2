package cerify.adapters.esper;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.protocol.Skip;

/** What CEL says and this adapter does not say in EPL, with the reasons. */
final class Unsayable {

    private Unsayable() {}

    /** The reason why the formula's outermost operator has no translation. */
    static Skip skip(Formula phi) {
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
                case NXT -> Manual.PATTERNS.skip(
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

    /** The reason why the atom of a filter has no translation. */
    static Skip skip(Condition atom) {
        return Manual.MATCH_RECOGNIZE.skip("a user-defined predicate has no definition in EPL: " + atom);
    }

    /** Whether PROJECT occurs in the formula. */
    static boolean hasProjection(Formula phi) {
        if (phi instanceof Formula.Project) {
            return true;
        }
        if (phi instanceof Formula.In in) {
            return hasProjection(in.phi());
        }
        if (phi instanceof Formula.Filter filter) {
            return hasProjection(filter.phi());
        }
        if (phi instanceof Formula.Sequence sequence) {
            return hasProjection(sequence.left()) || hasProjection(sequence.right());
        }
        if (phi instanceof Formula.Iteration iteration) {
            return hasProjection(iteration.phi());
        }
        if (phi instanceof Formula.Or or) {
            return hasProjection(or.left()) || hasProjection(or.right());
        }
        return phi instanceof Formula.Selection selection && hasProjection(selection.phi());
    }
}
