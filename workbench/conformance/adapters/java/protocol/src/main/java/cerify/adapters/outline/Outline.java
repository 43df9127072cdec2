package cerify.adapters.outline;

import cerify.adapters.cel.Term;
import java.io.Serializable;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A formula without variables: its shape, the definitions that each variable binds, and the correlated filters. */
public record Outline(Shape shape, Map<String, Set<Definition>> variables, List<Constraint> constraints)
        implements Serializable {

    /** The definitions of the shape, those hidden by a projection included, from left to right. */
    public List<Definition> definitions() {
        return shape.definitions().stream()
                .sorted(Comparator.comparingInt(Definition::index))
                .toList();
    }

    /** The attributes that filters mention. */
    public Set<String> attributes() {
        return Stream.concat(
                        definitions().stream().flatMap(definition -> definition.conditions().stream()),
                        constraints.stream().map(Constraint::predicate))
                .flatMap(predicate -> predicate.mentions().stream())
                .map(Term.Attribute::name)
                .collect(Collectors.toSet());
    }
}
