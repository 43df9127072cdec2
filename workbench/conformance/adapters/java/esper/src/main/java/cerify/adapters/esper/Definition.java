package cerify.adapters.esper;

import cerify.adapters.cel.Predicate;
import java.util.ArrayList;
import java.util.List;

/** One occurrence of an event type in a formula: a variable of match_recognize, or a tag of a pattern. */
final class Definition {

    private final int index;
    private final String type;
    private final boolean iterated;
    private final boolean optional;
    private final List<Predicate> conditions = new ArrayList<>();

    /**
     * An occurrence, where index counts them from left to right; iterated if it is under + or :+, so that EPL has
     * several events for it, and optional if it is under OR, so that EPL may have none.
     */
    Definition(int index, String type, boolean iterated, boolean optional) {
        this.index = index;
        this.type = type;
        this.iterated = iterated;
        this.optional = optional;
    }

    /** The name in EPL; the number at its end keeps it apart from keywords and from other definitions. */
    String name() {
        return type.replaceAll("[^A-Za-z0-9_]", "_") + "_" + index;
    }

    int index() {
        return index;
    }

    String type() {
        return type;
    }

    boolean isIterated() {
        return iterated;
    }

    boolean isOptional() {
        return optional;
    }

    /** Requires the predicate of every event of this definition. */
    void require(Predicate predicate) {
        conditions.add(predicate);
    }

    List<Predicate> conditions() {
        return conditions;
    }
}
