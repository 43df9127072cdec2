package cerify.adapters.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.cases.Case;
import cerify.adapters.cel.FormulaReader;
import cerify.adapters.cel.Truth;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The driver of the NFA reports the matches that a local cluster reports for the same pattern and the same stream. */
class MiniClusterTest {

    /** The step names and positions of a match, as text. */
    private static final class Shown implements PatternSelectFunction<Integer, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public String select(Map<String, List<Integer>> match) {
            return new java.util.TreeMap<>(match).toString();
        }
    }

    static List<Case> cases() throws IOException {
        return Case.of("cluster.jsonl");
    }

    @ParameterizedTest
    @MethodSource("cases")
    void sameMatches(Case given) throws Exception {
        Run run = given.run();
        Hoisted hoisted = Hoisted.of(FormulaReader.formula(run.tree()));
        EventTime time = EventTime.of(hoisted.windows(), run);
        Outline outline = Binder.outline(hoisted.phi(), new FlinkClaims());
        Taking taking = new Taking(new Truth(run.schema()), outline, hoisted.keys());
        Chain chain = Chain.of(outline.shape(), new FlinkClaims()::choiceInIteration).get(0);
        ChainPattern translation = new ChainPattern(chain, run.events(), taking);
        Pattern<Integer, ?> pattern = translation.pattern(time.window());

        TreeSet<String> driven = new TreeSet<>();
        new NfaRun(pattern).run(time.timestamps(), (at, match) -> driven.add(new Shown().select(match)));
        assertTrue(!driven.isEmpty());
        assertEquals(onCluster(pattern, time.timestamps()), driven);
    }

    private static TreeSet<String> onCluster(Pattern<Integer, ?> pattern, long[] timestamps) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        Integer[] positions = IntStream.range(0, timestamps.length).boxed().toArray(Integer[]::new);
        DataStream<Integer> stream = environment
                .fromData(positions)
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Integer>forMonotonousTimestamps()
                        .withTimestampAssigner((position, before) -> timestamps[position]));
        @SuppressWarnings("unchecked")
        Pattern<Integer, Integer> typed = (Pattern<Integer, Integer>) pattern;
        DataStream<String> matches = CEP.pattern(stream, typed).select(new Shown());
        TreeSet<String> found = new TreeSet<>();
        try (CloseableIterator<String> rows = matches.executeAndCollect()) {
            rows.forEachRemaining(found::add);
        }
        return found;
    }
}
