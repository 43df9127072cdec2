package cerify.adapters.outline;

import java.io.Serializable;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** How the definitions of a formula follow each other: the formula without variables and filters. */
public sealed interface Shape extends Serializable {

    /** One event of the definition. */
    record One(Definition definition) implements Shape {}

    /** Left, then right; right begins at the next event if contiguous. */
    record Then(Shape left, Shape right, boolean contiguous) implements Shape {}

    /** One of the shapes. */
    record Choice(List<Shape> shapes) implements Shape {}

    /** The shape least to most times, without an upper bound if most is 0; if contiguous, rounds are neighbours. */
    record Repeat(Shape shape, int least, int most, boolean contiguous) implements Shape {}

    /** All definitions of the shape. */
    default Set<Definition> definitions() {
        Set<Definition> found = new HashSet<>();
        if (this instanceof One one) {
            found.add(one.definition());
        } else if (this instanceof Then then) {
            found.addAll(then.left().definitions());
            found.addAll(then.right().definitions());
        } else if (this instanceof Choice choice) {
            choice.shapes().forEach(shape -> found.addAll(shape.definitions()));
        } else if (this instanceof Repeat repeat) {
            found.addAll(repeat.shape().definitions());
        }
        return found;
    }

    /** Whether one match can have events of all these definitions, which it cannot if they are in different branches. */
    default boolean bindsTogether(Collection<Definition> wanted) {
        if (this instanceof Then then) {
            return then.left().bindsTogether(within(then.left(), wanted))
                    && then.right().bindsTogether(within(then.right(), wanted));
        }
        if (this instanceof Choice choice) {
            Predicate<Shape> fits = shape -> shape.definitions().containsAll(wanted) && shape.bindsTogether(wanted);
            return wanted.isEmpty() || choice.shapes().stream().anyMatch(fits);
        }
        return true; // rounds of an iteration may take different branches
    }

    private static List<Definition> within(Shape shape, Collection<Definition> wanted) {
        return wanted.stream().filter(shape.definitions()::contains).toList();
    }
}
