package cerify.adapters.esper;

import cerify.adapters.protocol.Run;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** What finds the rows of an EPL module over the events of a run: Esper, or in tests the meaning of EPL. */
interface Statements {

    /** Sends each row, as the values of its properties, with the position of the event that brought it forth. */
    void run(CelToEpl translation, Run run, BiConsumer<Integer, Function<String, Object>> receiver);
}
