package cerify.adapters.esper;

import cerify.adapters.cel.CelParser;
import cerify.adapters.cel.Formula;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Outline;
import cerify.adapters.protocol.Schema;

/** A CEL query and its translation: the EPL, and what its variables are called there. */
record CelToEpl(Outline outline, EventType type, String epl) {

    /** The translation; throws a Problem where the text is no query, and Skip where EPL has no words for it. */
    static CelToEpl translate(String query, Schema schema) {
        Formula phi = CelParser.parse(query);
        EventType type = new EventType(schema);
        if (phi instanceof Formula.Selection selection && selection.strategy() == Formula.Strategy.NXT) {
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
