package cerify.adapters.template;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.outline.Claims;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.protocol.Schema;
import cerify.adapters.protocol.Skip;

/** What the template does not claim; an adapter writes why its engine does not, and links the engine's manual. */
record TemplateClaims(Schema schema) implements Claims {

    private static final String MANUAL = "https://example.org/manual";

    /** Skips the query if it has a window. */
    void check(Hoisted hoisted) {
        if (!hoisted.windows().isEmpty()) {
            throw skip("windows");
        }
        hoisted.keys().forEach(this::requireOneType);
    }

    /** Skips the query if it mentions an attribute with values of several types. */
    void check(Outline outline) {
        outline.attributes().forEach(this::requireOneType);
    }

    private void requireOneType(String attribute) {
        if (schema.mixed().contains(attribute)) {
            throw skip("an attribute with values of several types: " + attribute);
        }
    }

    @Override
    public Skip operator(Formula phi) {
        return skip(phi.getClass().getSimpleName());
    }

    @Override
    public Skip predicate(Condition.Named atom) {
        return skip("the user-defined predicate " + atom.name());
    }

    @Override
    public Skip correlationInIteration() {
        return skip("a correlated filter under an iteration");
    }

    @Override
    public Skip contiguityOfProjection() {
        return skip("contiguity around a projection");
    }

    /** The reason why an iteration of a choice of sequences is not translated. */
    Skip choiceInIteration() {
        return skip("an iteration of a choice of sequences");
    }

    private static Skip skip(String what) {
        return new Skip("not translated: " + what, MANUAL);
    }
}
