package cerify.adapters.esper;

import cerify.adapters.cel.Predicate;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** A predicate over several mentions, each ranging over the events of a definition: all must satisfy it. */
record Constraint(Predicate predicate, List<Definition> definitions) {

    /** The definition whose events come last in the stream, where the definitions are in sequence. */
    Definition last() {
        return Collections.max(definitions, Comparator.comparingInt(Definition::index));
    }

    /** The definitions other than the last. */
    List<Definition> earlier() {
        return definitions.stream().filter(d -> d != last()).distinct().toList();
    }

    /**
     * Whether it can be tested when an event of the last definition arrives: all else is bound then, and for the last
     * definition itself there is only this event to look at.
     */
    boolean isTestedAtLast() {
        long iterated = definitions.stream().filter(Definition::isIterated).count();
        return earlier().size() <= 1 && iterated <= 1;
    }
}
