package cerify.adapters.siddhi;

import java.util.List;

/**
 * A step of a pattern or sequence of SiddhiQL.
 *
 * @param name the reference, such as {@code e1}, and the key of its positions in a match
 * @param filters conditions in SiddhiQL
 * @param least how many events at least; 1 and 1 is a step of one event
 * @param most how many events at most, 0 for no bound
 * @param negated whether the step is that there is no such event before the next step
 */
record Step(String name, List<String> filters, int least, int most, boolean negated) {

    boolean isIterated() {
        return least != 1 || most != 1;
    }
}
