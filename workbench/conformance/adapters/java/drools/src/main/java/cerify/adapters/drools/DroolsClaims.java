package cerify.adapters.drools;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.outline.Claims;
import cerify.adapters.protocol.Skip;

/** What CEL can express and a rule over single events cannot, or this adapter does not translate, with the reasons. */
final class DroolsClaims implements Claims {

    private static final String MANUAL =
            "https://docs.drools.org/latest/drools-docs/drools/rule-engine/index.html#cep-con_rule-engine";

    /** A skip with the chapter of Drools' manual on events. */
    static Skip skip(String reason) {
        return new Skip(reason, MANUAL);
    }

    @Override
    public Skip operator(Formula phi) {
        return skip(phi.getClass().getSimpleName() + " has no counterpart in a rule, or is not translated here");
    }

    @Override
    public Skip predicate(Condition.Named atom) {
        return skip("a user-defined predicate has no definition here: " + atom.name());
    }

    @Override
    public Skip correlationInIteration() {
        return iteration();
    }

    @Override
    public Skip contiguityOfProjection() {
        return skip("contiguity after a projection looks at the events that are still bound");
    }

    /** The reason why an iteration is not translated. */
    Skip iteration() {
        return skip("a pattern of a rule takes one event; accumulate has all events that fit, not each set of them");
    }

    /** The reason why an absence is not translated. */
    Skip absence() {
        return skip("UNLESS is translated where its right side is one event and there is one sequence");
    }
}
