package cerify.adapters.siddhi;

import cerify.adapters.protocol.Stopwatch;
import java.util.List;
import java.util.function.BiConsumer;

/** What finds the matches of an app: Siddhi, or in tests the meaning of SiddhiQL. */
interface Apps {

    /** Sends the rows of the stream at their times; receives what is selected with the position that brought it forth. */
    void run(
            String app,
            long[] timestamps,
            List<Object[]> rows,
            Stopwatch stopwatch,
            BiConsumer<Integer, Object[]> receiver);
}
