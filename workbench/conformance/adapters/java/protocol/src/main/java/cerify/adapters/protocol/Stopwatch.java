package cerify.adapters.protocol;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.json.JSONObject;

/**
 * The processor time that an engine takes for the events of a run, in nanoseconds: of the thread that sends them, and of
 * the process. It is measured for the message <i>measure</i> alone.
 */
public final class Stopwatch {

    private final boolean measuring;
    private long thread;
    private long process;

    /** One that measures, or one that does nothing. */
    Stopwatch(boolean measuring) {
        this.measuring = measuring;
    }

    /**
     * Does the work, which reports rows with the positions of the events that brought them forth. While the time is
     * measured they are kept; the receiver gets them afterwards, so that what it does with them takes no part.
     */
    public <R> void time(Consumer<BiConsumer<Integer, R>> work, BiConsumer<Integer, R> receiver) {
        if (!measuring) {
            work.accept(receiver);
            return;
        }
        List<Integer> positions = new ArrayList<>();
        List<R> rows = new ArrayList<>();
        long threadBefore = threadTime();
        long processBefore = processTime();
        work.accept((at, row) -> {
            positions.add(at);
            rows.add(row);
        });
        thread += threadTime() - threadBefore;
        process += processTime() - processBefore;
        for (int i = 0; i < rows.size(); i++) {
            receiver.accept(positions.get(i), rows.get(i));
        }
    }

    /** The times in seconds. */
    JSONObject seconds() {
        return new JSONObject().put("thread", thread / 1e9).put("process", process / 1e9);
    }

    private static long threadTime() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static long processTime() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }
}
