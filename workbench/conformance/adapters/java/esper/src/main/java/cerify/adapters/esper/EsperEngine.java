package cerify.adapters.esper;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import com.espertech.esper.common.client.EventBean;
import java.io.IOException;
import java.io.InputStream;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Esper under test.
 *
 * <p>Esper reports a row for each way of matching, and CEL's output is a set of complex events, so the rows of a run are
 * gathered into a set. The position of a match is that of the event during whose processing Esper reported it.
 */
final class EsperEngine implements Engine {

    private static final int MOST_MATCHES = 1_000_000;

    private final String version = version("/cerify-esper.properties");

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
        SortedSet<Match> matches = new TreeSet<>();
        boolean[] tooMany = {false};
        new EplModule(translation.epl(), translation.type()).run(run.events(), (at, row) -> {
            if (matches.size() < MOST_MATCHES) {
                matches.add(match(at, row, translation.outline()).reported(run.valuations()));
            } else {
                tooMany[0] = true;
            }
        });
        if (tooMany[0]) {
            throw new Problem(Problem.Code.BUDGET, "more than " + MOST_MATCHES + " matches");
        }
        return new Answer.Matches(matches);
    }

    private static Match match(int at, EventBean row, Outline outline) {
        SortedSet<Integer> support = new TreeSet<>();
        SortedMap<String, SortedSet<Integer>> bindings = new TreeMap<>();
        for (Map.Entry<String, Set<Definition>> variable : outline.variables().entrySet()) {
            SortedSet<Integer> bound = new TreeSet<>();
            variable.getValue().forEach(definition -> addPositions(row.get(definition.name()), bound));
            if (!bound.isEmpty()) {
                bindings.put(variable.getKey(), bound);
                support.addAll(bound);
            }
        }
        return new Match(at, support, bindings);
    }

    private static void addPositions(Object value, Set<Integer> positions) {
        if (value instanceof Integer position) {
            positions.add(position);
        } else if (value instanceof Collection<?> several) {
            several.forEach(each -> addPositions(each, positions));
        }
    }

    private static String version(String resource) {
        try (InputStream in = EsperEngine.class.getResourceAsStream(resource)) {
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("esper.version");
        } catch (IOException e) {
            throw new IllegalStateException("the jar is damaged: it has no " + resource, e);
        }
    }
}
