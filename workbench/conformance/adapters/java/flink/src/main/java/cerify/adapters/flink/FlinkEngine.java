package cerify.adapters.flink;

import cerify.adapters.cel.FormulaReader;
import cerify.adapters.cel.Truth;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Gathering;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.flink.cep.pattern.MalformedPatternException;
import org.apache.flink.cep.pattern.Pattern;

/**
 * Flink CEP under test.
 *
 * <p>The position of a match is that of the event during whose processing the NFA reported it. The matches of several
 * chains are gathered into one set.
 */
final class FlinkEngine extends Engine {

    private final Function<Pattern<Integer, ?>, Search> searches;

    /** The engine; it holds nothing between runs. */
    FlinkEngine() {
        this(NfaRun::new);
    }

    /** The adapter with something else that finds the matches of a pattern in the place of Flink's NFA. */
    FlinkEngine(Function<Pattern<Integer, ?>, Search> searches) {
        super(
                "flink-cep",
                List.of("cel"),
                List.of("project", "or", "contiguous", "iteration", "correlation", "strict", "within", "partition"));
        this.searches = searches;
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(FlinkEngine::new);
    }

    @Override
    public Answer answer(Run run) {
        FlinkClaims claims = new FlinkClaims();
        Hoisted hoisted = Hoisted.of(FormulaReader.formula(run.tree()));
        EventTime time = EventTime.of(hoisted.windows(), run);
        Outline outline = Binder.outline(hoisted.phi(), claims);
        claims.requireOneType(outline, hoisted, run.schema());
        Taking taking = new Taking(new Truth(run.schema()), outline, hoisted.keys());
        Gathering gathering = new Gathering(outline.variables(), run.valuations());
        for (Chain chain : Chain.of(outline.shape(), claims::choiceInIteration)) {
            try {
                ChainPattern pattern = new ChainPattern(chain, run.events(), taking);
                run.translated(pattern.text(time.window()));
                Search search = searches.apply(pattern.pattern(time.window()));
                run.stopwatch().<Map<String, List<Integer>>>time(
                        rows -> search.run(time.timestamps(), rows), (at, row) -> gathering.add(at, pattern.positions(row)));
            } catch (MalformedPatternException e) {
                throw FlinkClaims.skip("Flink refuses the pattern: " + e.getMessage(), "groups-of-patterns");
            }
        }
        return new Answer.Matches(gathering.matches());
    }
}
