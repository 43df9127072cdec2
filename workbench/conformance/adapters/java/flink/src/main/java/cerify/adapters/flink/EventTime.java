package cerify.adapters.flink;

import cerify.adapters.cel.Formula.Window;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Run;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The timestamps of the events, in milliseconds, and the window of the pattern.
 *
 * <p>Without a window a timestamp is the position. With one it is the attribute that the window is measured in, for which
 * Flink asks that events come in its order: Flink sorts events by time, where CEL takes them as they come.
 */
record EventTime(long[] timestamps, Optional<Duration> window) {

    /** The event time of a run; throws a Skip where Flink has no such window. */
    static EventTime of(List<Window> windows, Run run) {
        int length = run.events().size();
        if (windows.isEmpty()) {
            return new EventTime(IntStream.range(0, length).asLongStream().toArray(), Optional.empty());
        }
        if (windows.size() > 1) {
            throw FlinkClaims.skip("a pattern has one window", "combining-patterns");
        }
        Window window = windows.get(0);
        if (window.measure() == Window.Measure.EVENTS) {
            throw FlinkClaims.skip("a window is measured in time and not in events", "combining-patterns");
        }
        boolean isTime = window.measure() == Window.Measure.TIME;
        String attribute = isTime ? "time" : window.name();
        boolean moment = run.schema().attributes().get(attribute) == AttributeType.TIMESTAMP;
        double width = isTime ? window.seconds() * 1_000 : window.width();
        double unit = !isTime ? 1 : moment ? 1e-3 : 1_000;
        long[] timestamps = new long[length];
        for (int i = 0; i < length; i++) {
            timestamps[i] = milliseconds(run.events().get(i), attribute, unit);
            if (i > 0 && timestamps[i] < timestamps[i - 1]) {
                throw FlinkClaims.skip("event time decreases: Flink would sort the events", "handling-lateness-in-event-time");
            }
        }
        return new EventTime(timestamps, Optional.of(Duration.ofMillis(whole(width))));
    }

    private static long milliseconds(Event event, String attribute, double unit) {
        if (!(event.attributes().get(attribute) instanceof Number number)) {
            throw FlinkClaims.skip("an event without a time has no timestamp", "handling-lateness-in-event-time");
        }
        return whole(number.doubleValue() * unit);
    }

    private static long whole(double milliseconds) {
        if (milliseconds != Math.rint(milliseconds) || Math.abs(milliseconds) > 1e15) {
            throw FlinkClaims.skip("time is in whole milliseconds", "combining-patterns");
        }
        return (long) milliseconds;
    }
}
