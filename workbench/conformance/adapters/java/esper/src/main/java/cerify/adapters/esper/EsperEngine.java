package cerify.adapters.esper;

import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Gathering;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.EngineVersion;
import cerify.adapters.protocol.Run;
import com.espertech.esper.common.client.EventBean;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Esper under test.
 *
 * <p>Esper reports a row for each way of matching, and CEL's output is a set of complex events, so the rows of a run are
 * gathered into a set. The position of a match is that of the event during whose processing Esper reported it.
 */
final class EsperEngine implements Engine {

    private final String version = EngineVersion.of(EsperEngine.class, "/cerify-esper.properties");

    @Override
    public String name() {
        return "esper";
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
        return List.of("project", "or", "contiguous", "iteration", "correlation", "strict", "nxt");
    }

    @Override
    public Answer answer(Run run) {
        CelToEpl translation = CelToEpl.translate(run.query(), run.schema());
        Gathering gathering = new Gathering(translation.outline().variables(), run.valuations());
        new EplModule(translation.epl(), translation.type())
                .run(run, (at, row) -> gathering.add(at, definition -> positions(row, definition)));
        return new Answer.Matches(gathering.matches());
    }

    private static Set<Integer> positions(EventBean row, Definition definition) {
        Set<Integer> positions = new TreeSet<>();
        addPositions(row.get(definition.name()), positions);
        return positions;
    }

    private static void addPositions(Object value, Set<Integer> positions) {
        if (value instanceof Integer position) {
            positions.add(position);
        } else if (value instanceof Collection<?> several) {
            several.forEach(each -> addPositions(each, positions));
        }
    }
}
