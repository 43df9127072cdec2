package cerify.adapters.siddhi;

import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Stopwatch;
import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.exception.SiddhiAppCreationException;
import io.siddhi.core.query.output.callback.QueryCallback;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.query.compiler.exception.SiddhiParserException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/** Siddhi, with a manager of its own for each app, so that nothing of a run is left for the next. */
final class SiddhiApps implements Apps {

    @Override
    public void run(
            String app,
            long[] timestamps,
            List<Object[]> rows,
            Stopwatch stopwatch,
            BiConsumer<Integer, Object[]> receiver) {
        SiddhiManager manager = new SiddhiManager();
        try {
            SiddhiAppRuntime runtime = manager.createSiddhiAppRuntime(app);
            List<RuntimeException> failures = new ArrayList<>();
            runtime.handleRuntimeExceptionWith(e -> failures.add(new IllegalStateException("Siddhi: " + e, e)));
            stopwatch.<Object[]>time(found -> send(runtime, timestamps, rows, found, failures), receiver);
            if (!failures.isEmpty()) {
                throw failures.get(0);
            }
        } catch (SiddhiAppCreationException | SiddhiParserException e) {
            throw new Problem(Problem.Code.INTERNAL, "Siddhi does not compile the translation: " + e.getMessage(), e);
        } finally {
            manager.shutdown();
        }
    }

    private static void send(
            SiddhiAppRuntime runtime,
            long[] timestamps,
            List<Object[]> rows,
            BiConsumer<Integer, Object[]> receiver,
            List<RuntimeException> failures) {
        int[] at = {0};
        runtime.addCallback("matches", callback(at, receiver, failures));
        runtime.start();
        InputHandler input = runtime.getInputHandler(SiddhiRun.STREAM);
        try {
            for (Object[] row : rows) {
                input.send(timestamps[at[0]], row);
                at[0]++;
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        runtime.shutdown();
    }

    private static QueryCallback callback(
            int[] at, BiConsumer<Integer, Object[]> receiver, List<RuntimeException> failures) {
        return new QueryCallback() {
            @Override
            public void receive(long timestamp, Event[] found, Event[] removed) {
                try {
                    for (Event match : found) {
                        receiver.accept(at[0], match.getData());
                    }
                } catch (RuntimeException e) {
                    failures.add(e);
                }
            }
        };
    }
}
