import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Flink CEP 2.3.0: windows. Prints the matches of A followed by B within a duration; an event is a letter and its second. */
public final class Windows {
    static void show(Duration window, String expected, String... events) throws Exception {
        var environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        var stream = environment.fromData(events).assignTimestampsAndWatermarks(WatermarkStrategy
                .<String>forMonotonousTimestamps().withTimestampAssigner((e, t) -> 1000L * (e.charAt(1) - '0')));
        Pattern<String, ?> pattern = Pattern.<String>begin("A")
                .where(SimpleCondition.of(e -> e.startsWith("A")))
                .followedByAny("B")
                .where(SimpleCondition.of(e -> e.startsWith("B")))
                .within(window);
        PatternSelectFunction<String, String> select = Map::toString;
        var got = new java.util.TreeSet<String>();
        CEP.pattern(stream, pattern).select(select).executeAndCollect().forEachRemaining(got::add);
        System.out.println("within " + window + " on " + String.join(" ", events)
                + "\n  expected " + expected + "\n  got      " + got);
    }

    public static void main(String[] arguments) throws Exception {
        show(Duration.ZERO, "nothing: the events are 5 seconds apart", "A0", "B5");
        show(Duration.ofSeconds(2), "{A=[A0], B=[B2]}: 2 seconds do not exceed the interval", "A0", "B2");
    }
}
