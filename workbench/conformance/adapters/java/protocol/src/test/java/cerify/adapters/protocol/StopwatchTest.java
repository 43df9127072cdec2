package cerify.adapters.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StopwatchTest {

    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private static List<String> order(Stopwatch stopwatch) {
        List<String> order = new ArrayList<>();
        stopwatch.<String>time(
                rows -> {
                    long begun = PROCESS.getProcessCpuTime(); // it advances in steps of some milliseconds
                    while (PROCESS.getProcessCpuTime() == begun) {
                        Thread.onSpinWait();
                    }
                    rows.accept(1, "row");
                    order.add("done");
                },
                (at, row) -> order.add(row + " at " + at));
        return order;
    }

    @Test
    void rowsArePassedOnAfterTheTimeHasStopped() {
        Stopwatch stopwatch = new Stopwatch(true);
        assertEquals(List.of("done", "row at 1"), order(stopwatch));
        assertTrue(stopwatch.seconds().getDouble("thread") > 0);
        assertTrue(stopwatch.seconds().getDouble("process") > 0);
    }

    @Test
    void withoutMeasuringTheyArePassedOnAtOnce() {
        Stopwatch stopwatch = new Stopwatch(false);
        assertEquals(List.of("row at 1", "done"), order(stopwatch));
        assertEquals(0, stopwatch.seconds().getDouble("thread"));
    }
}
