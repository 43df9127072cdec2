package cerify.adapters.flink;

import cerify.adapters.cel.CelParser;
import cerify.adapters.cel.Truth;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Gathering;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.EngineVersion;
import cerify.adapters.protocol.Run;
import java.util.List;
import java.util.Map;
import org.apache.flink.cep.pattern.MalformedPatternException;

/**
 * Flink CEP under test.
 *
 * <p>The position of a match is that of the event during whose processing the NFA reported it. The matches of several
 * chains are gathered into one set.
 */
final class FlinkEngine implements Engine {

    private final String version = EngineVersion.of(FlinkEngine.class, "/cerify-flink.properties");

    @Override
    public String name() {
        return "flink-cep";
    }

    @Override
    public String version() {
        return version;
    }

    @Override
    public List<String> languages() {
        return List.of("cel");
    }

    @Override
    public List<String> features() {
        return List.of("project", "or", "contiguous", "iteration", "correlation", "strict", "within", "partition");
    }

    @Override
    public Answer answer(Run run) {
        FlinkClaims claims = new FlinkClaims();
        Hoisted hoisted = Hoisted.of(CelParser.parse(run.query()));
        EventTime time = EventTime.of(hoisted.windows(), run);
        Outline outline = Binder.outline(hoisted.phi(), claims);
        claims.requireOneType(outline, hoisted, run.schema());
        Taking taking = new Taking(new Truth(run.schema()), outline, hoisted.keys());
        Gathering gathering = new Gathering(outline.variables(), run.valuations());
        for (Chain chain : Chain.of(outline.shape(), claims::choiceInIteration)) {
            try {
                ChainPattern pattern = new ChainPattern(chain, run.events(), taking);
                NfaRun nfa = new NfaRun(pattern.pattern(time.window()));
                run.stopwatch().<Map<String, List<Integer>>>time(
                        rows -> nfa.run(time.timestamps(), rows), (at, row) -> gathering.add(at, pattern.positions(row)));
            } catch (MalformedPatternException e) {
                throw FlinkClaims.skip("Flink refuses the pattern: " + e.getMessage(), "groups-of-patterns");
            }
        }
        return new Answer.Matches(gathering.matches());
    }
}
