package cerify.adapters.esper;

import cerify.adapters.cel.Formula;
import cerify.adapters.cel.FormulaReader;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Outline;
import cerify.adapters.protocol.Run;

/** A CEL query and its translation: the EPL, and what its variables are called there. */
record CelToEpl(Outline outline, EventType type, String epl) {

    /** The translation of the query of a run. Throws a Problem where it is no query, and Skip where EPL cannot express it. */
    static CelToEpl translate(Run run) {
        Formula phi = FormulaReader.formula(run.tree());
        EventType type = new EventType(run.schema());
        if (phi instanceof Formula.Selection selection && selection.strategy() == Formula.Strategy.NEXT) {
            if (phi.hasProjection()) {
                throw Manual.PATTERNS.skip("a projection under NXT changes which of the matches is the greatest");
            }
            Outline outline = Binder.outline(selection.phi(), new EsperClaims());
            return new CelToEpl(outline, type, FollowedBy.epl(outline, type));
        }
        Outline outline = Binder.outline(phi, new EsperClaims());
        return new CelToEpl(outline, type, RowRecognition.epl(outline, type));
    }
}
