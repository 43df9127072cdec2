import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Flink CEP 2.3.0: gaps of steps, and greedy loops with a maximum. An event is a letter and its second. */
public final class Loops {
    private static final Duration GAP = Duration.ofSeconds(2);

    static SimpleCondition<String> is(String letter) {
        return SimpleCondition.of(e -> e.startsWith(letter));
    }

    static void show(String what, Pattern<String, ?> pattern, String expected, String... events) throws Exception {
        var environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        var stream = environment.fromData(events).assignTimestampsAndWatermarks(WatermarkStrategy
                .<String>forMonotonousTimestamps().withTimestampAssigner((e, t) -> 1000L * (e.charAt(1) - '0')));
        PatternSelectFunction<String, String> select = Map::toString;
        var got = new java.util.TreeSet<String>();
        CEP.pattern(stream, pattern).select(select).executeAndCollect().forEachRemaining(got::add);
        System.out.println(what + " on " + String.join(" ", events) + "\n  expected " + expected + "\n  got      " + got);
    }

    public static void main(String[] arguments) throws Exception {
        Pattern<String, ?> gap = Pattern.<String>begin("A").where(is("A"))
                .followedBy("B").where(is("B")).times(2, GAP);
        show("A, then B times(2, 2 s)", gap, "{A=[A0], B=[B5, B6]}: the two B are 1 s apart", "A0", "B5", "B6");
        show("A, then B times(2, 2 s)", gap, "nothing: the two B are 4 s apart", "A0", "B1", "B5");
        Pattern<String, ?> each = Pattern.<String>begin("A").where(is("A"))
                .followedBy("B").where(is("B")).followedBy("C").where(is("C"))
                .within(GAP, WithinType.PREVIOUS_AND_CURRENT);
        show("A, B, C within(2 s, PREVIOUS_AND_CURRENT)", each, "nothing: A and B are 5 s apart", "A0", "B5", "C6");
        show("A, B, C within(2 s, PREVIOUS_AND_CURRENT)", each, "nothing: B and C are 5 s apart", "A0", "B1", "C6");
        Pattern<String, ?> greedy = Pattern.<String>begin("A").where(is("A")).times(1, 2).greedy()
                .followedBy("B").where(is("B"));
        show("A times(1, 2).greedy(), then B", greedy, "{A=[A0, A1], B=[B3]} beside the two below", "A0", "A1", "A2", "B3");
    }
}
