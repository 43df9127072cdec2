package cerify.adapters.outline;

import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Problem;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/** The set of matches of a run, from the positions that an engine reports for each definition. */
public final class Gathering {

    private static final int MOST_MATCHES = 1_000_000;

    private final Map<String, Set<Definition>> variables;
    private final boolean valuations;
    private final SortedSet<Match> matches = new TreeSet<>();

    /** An empty set; the variables are those of an outline. */
    public Gathering(Map<String, Set<Definition>> variables, boolean valuations) {
        this.variables = variables;
        this.valuations = valuations;
    }

    /** Adds a match that was reported at a position; raises a Problem over a million matches. */
    public void add(int at, Function<Definition, Collection<Integer>> positions) {
        SortedSet<Integer> support = new TreeSet<>();
        SortedMap<String, SortedSet<Integer>> bindings = new TreeMap<>();
        variables.forEach((variable, definitions) -> {
            SortedSet<Integer> bound = new TreeSet<>();
            definitions.forEach(definition -> bound.addAll(positions.apply(definition)));
            if (!bound.isEmpty()) {
                bindings.put(variable, bound);
                support.addAll(bound);
            }
        });
        matches.add(new Match(at, support, bindings).reported(valuations));
        if (matches.size() > MOST_MATCHES) {
            throw new Problem(Problem.Code.BUDGET, "more than " + MOST_MATCHES + " matches");
        }
    }

    /** The matches so far. */
    public SortedSet<Match> matches() {
        return matches;
    }
}
