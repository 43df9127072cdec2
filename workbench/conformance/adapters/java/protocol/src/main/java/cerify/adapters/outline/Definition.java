package cerify.adapters.outline;

import cerify.adapters.cel.Predicate;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** One occurrence of an event type in a formula: in an engine's language, a variable, a tag or a step of its own. */
public final class Definition implements Serializable {

    private static final long serialVersionUID = 1L;

    private final int index;
    private final String type;
    private final boolean iterated;
    private final boolean optional;
    private final List<Predicate> conditions = new ArrayList<>();

    /**
     * An occurrence, where index counts them from left to right; iterated if it is under + or :+, so that a match has
     * several events of it, and optional if it is under OR, so that a match may have none.
     */
    Definition(int index, String type, boolean iterated, boolean optional) {
        this.index = index;
        this.type = type;
        this.iterated = iterated;
        this.optional = optional;
    }

    /** The name in an engine's language: an identifier that no keyword and no other definition has. */
    public String name() {
        return type.replaceAll("[^A-Za-z0-9_]", "_") + "_" + index;
    }

    /** The number of the occurrence, from 1, left to right. */
    public int index() {
        return index;
    }

    /** The event type. */
    public String type() {
        return type;
    }

    /** Whether a match can have several events of this definition. */
    public boolean isIterated() {
        return iterated;
    }

    /** Whether a match can have no event of this definition. */
    public boolean isOptional() {
        return optional;
    }

    /** Adds a predicate that every event of this definition satisfies. */
    void require(Predicate predicate) {
        conditions.add(predicate);
    }

    /** The predicates on single events. */
    public List<Predicate> conditions() {
        return List.copyOf(conditions);
    }
}
