import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Flink CEP 2.3.0: loops of groups. Prints the positions of each match of a pattern over a stream of letters. */
public final class GroupLoops {

    static Pattern<String, String> event(Pattern<String, String> before, String type) {
        Pattern<String, String> p = before == null ? Pattern.begin(type) : before.followedByAny(type);
        return p.where(SimpleCondition.of(event -> event.startsWith(type)));
    }

    static void show(String query, String expected, String types, Pattern<String, String> pattern) throws Exception {
        var environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        String[] events = new String[types.length()];
        for (int i = 0; i < events.length; i++) events[i] = types.charAt(i) + "@" + i;
        var stream = environment.fromData(events).assignTimestampsAndWatermarks(WatermarkStrategy
                .<String>forMonotonousTimestamps().withTimestampAssigner((e, t) -> e.charAt(2) - '0'));
        PatternSelectFunction<String, String> select = Map::toString;
        var got = new java.util.TreeSet<String>();
        CEP.pattern(stream, pattern).select(select).executeAndCollect().forEachRemaining(got::add);
        System.out.println(query + " on " + types + "\n  expected " + expected + "\n  got      " + got);
    }

    public static void main(String[] arguments) throws Exception {
        show("(A+):+", "also {A=[A@0, A@2]}: one round of the inner loop", "AAA", Pattern.begin(
                event(null, "A").oneOrMore().allowCombinations()).oneOrMore().consecutive());
        show("(A:{2})+", "{A=[A@0, A@1]} and {A=[A@1, A@2]}: the inner loop is consecutive", "AAA", Pattern.begin(
                event(null, "A").times(2).consecutive()).oneOrMore().allowCombinations());
        show("A ; ((B ; C)+ ; D)+", "{A=[A@0], B=[B@2], C=[C@3], D=[D@4]}", "AXBCD", event(null, "A").followedByAny(
                Pattern.begin(event(Pattern.begin(event(event(null, "B"), "C")).oneOrMore().allowCombinations(), "D"))
                        .oneOrMore().allowCombinations()));
    }
}
