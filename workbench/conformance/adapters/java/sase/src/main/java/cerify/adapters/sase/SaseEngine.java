package cerify.adapters.sase;

import cerify.adapters.cel.SaseQuery;
import cerify.adapters.cel.SaseReader;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Run;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * SASE under test.
 *
 * <p>It reports the events of a match, not which variable has which. The position of a match is that of the event during
 * whose processing SASE reported it.
 */
final class SaseEngine extends Engine {

    private final Search search;

    SaseEngine(Search search, String version) {
        super("sase", version, List.of("sase"), List.of("iteration", "correlation", "within", "partition", "negation"));
        this.search = search;
    }

    @Override
    public JSONObject claims() {
        JSONObject claims = new JSONObject()
                .put("operators", new JSONArray(List.of("kleene", "within", "negation", "equivalence", "correlated", "end")))
                .put("predicates", new JSONArray(List.of("comparison", "arithmetic", "correlated")))
                .put("strategies", new JSONArray(List.of("partition", "next", "any")))
                .put("output", new JSONArray(List.of("matches")))
                .put("ordered_time", true);
        return new JSONObject().put("sase", claims);
    }

    @Override
    public Answer answer(Run run) {
        if (run.valuations()) {
            throw QueryFile.skip("a match has its events; which variable has which is not reported");
        }
        SaseQuery query = SaseReader.query(run.tree());
        String text = new QueryFile(query).text();
        run.translated(text);
        SortedSet<Match> matches = new TreeSet<>();
        List<Search.Input> inputs = new Inputs(query, run).events();
        run.stopwatch().<Set<Integer>>time(
                rows -> search.run(text, inputs, rows),
                (at, events) -> matches.add(new Match(at, new TreeSet<>(events), null)));
        return new Answer.Matches(matches);
    }
}
