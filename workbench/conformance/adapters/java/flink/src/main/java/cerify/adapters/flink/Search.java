package cerify.adapters.flink;

import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/** What finds the matches of one pattern: Flink's NFA, or in tests the meaning of the Pattern API. */
interface Search {

    /**
     * Processes the positions of the stream; receives each match, the positions of each step by its name, with the position
     * that brought it forth.
     */
    void run(long[] timestamps, BiConsumer<Integer, Map<String, List<Integer>>> receiver);
}
