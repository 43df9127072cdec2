package cerify.adapters.esper;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A formula taken apart: its shape, the definitions that each variable binds, and the correlated filters. */
record Outline(Shape shape, Map<String, Set<Definition>> variables, List<Constraint> constraints) {

    /** The definitions of the shape, those hidden by a projection included, from left to right. */
    List<Definition> definitions() {
        return shape.definitions().stream()
                .sorted(Comparator.comparingInt(Definition::index))
                .toList();
    }
}
