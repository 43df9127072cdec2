package cerify.adapters.siddhi;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.outline.Claims;
import cerify.adapters.protocol.Skip;

/** What CEL and SASE+ can express and SiddhiQL cannot, or this adapter does not translate, with the reasons. */
final class SiddhiClaims implements Claims {

    private static final String MANUAL = "https://siddhi.io/en/v5.1/docs/query-guide/#";

    /** A skip with a section of Siddhi's manual. */
    static Skip skip(String reason, String section) {
        return new Skip(reason, MANUAL + section);
    }

    @Override
    public Skip operator(Formula phi) {
        return skip(phi.getClass().getSimpleName() + " has no counterpart in a sequence, or is not translated", "sequence");
    }

    @Override
    public Skip predicate(Condition.Named atom) {
        return skip("a user-defined predicate has no definition here: " + atom.name(), "filter");
    }

    @Override
    public Skip correlationInIteration() {
        return skip("a correlated filter under an iteration", "counting-sequence");
    }

    @Override
    public Skip contiguityOfProjection() {
        return skip("contiguity after a projection looks at the events that are still bound", "sequence");
    }

    /** The reason why an iteration of a choice of sequences is not translated. */
    Skip choiceInIteration() {
        return skip("an iteration of a choice of sequences", "counting-sequence");
    }
}
