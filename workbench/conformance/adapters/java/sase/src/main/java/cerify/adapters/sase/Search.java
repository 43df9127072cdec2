package cerify.adapters.sase;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;

/** What looks for the matches of a query file: SASE, or in tests the definition of SASE+. */
interface Search {

    /** An event as SASE takes it: its type, its time, and its attributes, all of them whole numbers of 32 bits. */
    record Input(String type, int time, Map<String, Integer> attributes) {}

    /** Sends each match to the receiver: the position at which it is reported, and the positions of its events. */
    void run(String query, List<Input> stream, BiConsumer<Integer, Set<Integer>> receiver);
}
