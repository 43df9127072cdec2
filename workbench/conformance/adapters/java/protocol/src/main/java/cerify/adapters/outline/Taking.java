package cerify.adapters.outline;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.Term;
import cerify.adapters.cel.Truth;
import cerify.adapters.protocol.Event;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Whether a partial match may take an event for a definition: the conditions of an engine whose conditions are code.
 *
 * <p>Each correlated filter is tested whenever an event of one of its definitions is taken, against all the events that
 * are taken by then, the new one included. So when the match is complete, all combinations have been tested.
 */
public final class Taking implements Serializable {

    private static final long serialVersionUID = 1L;

    private final Truth truth;
    private final Outline outline;
    private final List<Predicate> keys;

    /** The conditions of the outline's definitions and constraints; all events of a match agree on the keys. */
    public Taking(Truth truth, Outline outline, List<String> keys) {
        this.truth = truth;
        this.outline = outline;
        this.keys = keys.stream().map(Taking::sameKey).toList();
    }

    private static Predicate sameKey(String attribute) {
        Term.Attribute key = new Term.Attribute(null, attribute);
        return new Predicate.Comparison("=", key, key);
    }

    /** Whether the event has the type of the definition and satisfies its predicates. */
    public boolean fits(Definition definition, Event event) {
        if (!event.type().equals(definition.type())) {
            return false;
        }
        for (Predicate predicate : definition.conditions()) {
            if (!truth.of(predicate, event)) {
                return false;
            }
        }
        return keys.stream().allMatch(key -> truth.of(key, event));
    }

    /** Whether the taking of an event of the definition depends on the events taken before it. */
    public boolean isCorrelated(Definition definition) {
        return !keys.isEmpty()
                || outline.constraints().stream().anyMatch(constraint -> constraint.definitions().contains(definition));
    }

    /** Whether the event agrees with the events taken before it, which the function gives for each definition. */
    public boolean agrees(Definition definition, Event event, Function<Definition, List<Event>> taken) {
        for (Constraint constraint : outline.constraints()) {
            if (constraint.definitions().contains(definition)
                    && !agrees(constraint, definition, event, taken, new ArrayList<>())) {
                return false;
            }
        }
        return keys.isEmpty() || hasKeysOf(event, taken);
    }

    private boolean hasKeysOf(Event event, Function<Definition, List<Event>> taken) {
        for (Definition definition : outline.definitions()) {
            for (Event earlier : taken.apply(definition)) {
                if (!keys.stream().allMatch(key -> truth.of(key, List.of(earlier, event)))) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean agrees(
            Constraint constraint,
            Definition definition,
            Event event,
            Function<Definition, List<Event>> taken,
            List<Event> chosen) {
        int mention = chosen.size();
        if (mention == constraint.definitions().size()) {
            return !chosen.contains(event) || truth.of(constraint.predicate(), chosen);
        }
        Definition mentioned = constraint.definitions().get(mention);
        List<Event> candidates = new ArrayList<>(taken.apply(mentioned));
        if (mentioned == definition) {
            candidates.add(event);
        }
        for (Event candidate : candidates) {
            chosen.add(candidate);
            boolean agrees = agrees(constraint, definition, event, taken, chosen);
            chosen.remove(mention);
            if (!agrees) {
                return false;
            }
        }
        return true;
    }
}
