import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Flink CEP 2.3.0: what stands after, or before, a loop of a group that loops itself, on three events A. */
public final class GroupThenNext {
    static Pattern<String, String> any(Pattern<String, String> pattern) {
        return pattern.where(SimpleCondition.of(event -> event.startsWith("A")));
    }

    static Pattern<String, String> loop(Pattern<String, String> pattern) {
        return pattern.oneOrMore().allowCombinations();
    }

    static void show(String query, String expected, Pattern<String, String> pattern) throws Exception {
        var environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        var stream = environment.fromData("A0", "A1", "A2").assignTimestampsAndWatermarks(WatermarkStrategy
                .<String>forMonotonousTimestamps().withTimestampAssigner((e, t) -> e.charAt(1) - '0'));
        PatternSelectFunction<String, String> select = Map::toString;
        var got = new java.util.TreeSet<String>();
        CEP.pattern(stream, pattern).select(select).executeAndCollect().forEachRemaining(got::add);
        System.out.println(query + "\n  expected " + expected + "\n  got      " + got);
    }

    public static void main(String[] arguments) throws Exception {
        show("(a+)+ next b", "b right after the last a, never {a=[A0], b=[A2]}",
                any(loop(Pattern.begin(loop(any(Pattern.begin("a"))))).next("b")));
        show("a followedByAny ((b+)+)+", "also {a=[A0], b=[A2]}", any(Pattern.<String>begin("a"))
                .followedByAny(loop(Pattern.begin(loop(Pattern.begin(loop(any(Pattern.begin("b")))))))));
    }
}
