package cerify.adapters.outline;

import cerify.adapters.cel.Predicate;
import java.io.Serializable;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** A predicate over several mentions, each ranging over the events of a definition: all must satisfy it. */
public record Constraint(Predicate predicate, List<Definition> definitions) implements Serializable {

    /** The definition whose events come last in the stream, where the definitions are in sequence. */
    public Definition last() {
        return Collections.max(definitions, Comparator.comparingInt(Definition::index));
    }

    /** The definitions other than the last. */
    public List<Definition> earlier() {
        return definitions.stream().filter(d -> d != last()).distinct().toList();
    }

    /**
     * Whether a condition on one event of the last definition can express it: all other definitions are bound by then,
     * and no more than one mention ranges over several events.
     */
    public boolean isTestedAtLast() {
        long iterated = definitions.stream().filter(Definition::isIterated).count();
        return earlier().size() <= 1 && iterated <= 1;
    }
}
