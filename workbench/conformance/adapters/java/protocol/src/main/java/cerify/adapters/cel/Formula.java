package cerify.adapters.cel;

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

    /** phi+, or phi:+ if contiguous. */
    record Iteration(Formula phi, boolean contiguous) implements Formula {}

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

    /** The binary operators beside sequencing and OR. */
    enum Combiner {
        AND,
        ALL,
        UNLESS
    }

    /** The selection strategies. */
    enum Strategy {
        STRICT,
        NXT,
        LAST,
        MAX
    }

    /** The width of a window, and what it is measured in: EVENTS, a unit of time, or an attribute. */
    record Window(double width, Measure measure, String name) {

        /** What a window is measured in. */
        public enum Measure {
            EVENTS,
            TIME,
            ATTRIBUTE
        }
    }
}
