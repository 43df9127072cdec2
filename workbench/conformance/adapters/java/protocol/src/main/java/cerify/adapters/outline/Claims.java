package cerify.adapters.outline;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.protocol.Skip;

/** What an engine does not claim, as the reasons that its adapter gives when it skips a query. */
public interface Claims {

    /** The reason why the outermost operator of the formula is not translated. */
    Skip operator(Formula phi);

    /** The reason why a user-defined predicate is not translated. */
    Skip predicate(Condition.Named atom);

    /** The reason why a correlated filter inside an iteration is not translated. */
    Skip correlationInIteration();

    /** The reason why contiguity is not translated where a projection is below it. */
    Skip contiguityOfProjection();
}
