package cerify.adapters.cel;

import java.util.List;
import java.util.Set;

/** CEL formulas: tods21, Figure 2, with the sugar of section 4 and the strategies of section 7.1. */
public sealed interface Formula {

    /** An event of this type. */
    record OfType(String type) implements Formula {}

    /** phi IN variable. */
    record In(Formula phi, String variable) implements Formula {}

    /** phi FILTER condition. */
    record Filter(Formula phi, Condition condition) implements Formula {}

    /** left ; right, or left : right if contiguous. */
    record Sequence(Formula left, Formula right, boolean contiguous) implements Formula {}

    /**
     * phi{least,most}, or phi:{least,most} if contiguous; most is 0 where there is no upper bound, so that phi+ has 1 and
     * 0.
     */
    record Iteration(Formula phi, int least, int most, boolean contiguous) implements Formula {}

    /** PROJECT[variables](phi). */
    record Project(Set<String> variables, Formula phi) implements Formula {}

    /** START(phi). */
    record Start(Formula phi) implements Formula {}

    /** left OR right. */
    record Or(Formula left, Formula right) implements Formula {}

    /** left AND right, left ALL right, left UNLESS right. */
    record Combination(Combiner combiner, Formula left, Formula right) implements Formula {}

    /** STRICT(phi), NXT(phi), LAST(phi), MAX(phi). */
    record Selection(Strategy strategy, Formula phi) implements Formula {}

    /** phi WITHIN window. */
    record Within(Formula phi, Window window) implements Formula {}

    /** phi PARTITION BY [attribute]. */
    record PartitionBy(Formula phi, String attribute) implements Formula {}

    /** The formulas directly below the outermost operator. */
    default List<Formula> operands() {
        if (this instanceof In in) {
            return List.of(in.phi());
        }
        if (this instanceof Filter filter) {
            return List.of(filter.phi());
        }
        if (this instanceof Sequence sequence) {
            return List.of(sequence.left(), sequence.right());
        }
        if (this instanceof Iteration iteration) {
            return List.of(iteration.phi());
        }
        if (this instanceof Project project) {
            return List.of(project.phi());
        }
        if (this instanceof Start start) {
            return List.of(start.phi());
        }
        if (this instanceof Or or) {
            return List.of(or.left(), or.right());
        }
        if (this instanceof Combination combination) {
            return List.of(combination.left(), combination.right());
        }
        if (this instanceof Selection selection) {
            return List.of(selection.phi());
        }
        if (this instanceof Within within) {
            return List.of(within.phi());
        }
        if (this instanceof PartitionBy partition) {
            return List.of(partition.phi());
        }
        return List.of();
    }

    /** Whether PROJECT occurs in the formula. */
    default boolean hasProjection() {
        return this instanceof Project || operands().stream().anyMatch(Formula::hasProjection);
    }

    /** The binary operators beside sequencing and OR. */
    enum Combiner {
        AND,
        ALL,
        UNLESS
    }

    /** The selection strategies. */
    enum Strategy {
        STRICT,
        NEXT,
        LAST,
        MAX
    }

    /** The width of a window, and what it is measured in: EVENTS, a unit of time, or an attribute. */
    record Window(double width, Measure measure, String name) {

        /** The width of a window of time in seconds. */
        public double seconds() {
            return switch (name) {
                case "second" -> width;
                case "minute" -> width * 60;
                case "hour" -> width * 3_600;
                case "day" -> width * 86_400;
                default -> throw new IllegalStateException("no unit of time: " + name);
            };
        }

        /** What a window is measured in. */
        public enum Measure {
            EVENTS,
            TIME,
            ATTRIBUTE
        }
    }
}
