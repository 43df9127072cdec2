package cerify.adapters.siddhi;

import cerify.adapters.cel.FormulaReader;
import cerify.adapters.cel.SaseQuery;
import cerify.adapters.cel.SaseReader;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Gathering;
import cerify.adapters.outline.Outline;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.json.JSONObject;

/**
 * Siddhi under test: SASE+ as patterns, and contiguous CEL as sequences.
 *
 * <p>The position of a match is that of the event during whose processing Siddhi reported it.
 */
final class SiddhiEngine extends Engine {

    private static final String FIRST = "{'cmd': 'run', 'language': 'cel', 'query': 'A', 'events': [{'type': 'A'}]}";

    private final Apps apps;

    /** The engine, with its classes loaded, so that the first run is not slower than the others. */
    SiddhiEngine() {
        this(new SiddhiApps());
        Step any = new Step("any", List.of("1 == 1"), 1, 1, false);
        new SiddhiRun(Run.of(new JSONObject(FIRST)), List.of(any), ",", "").run(apps, (at, row) -> {});
    }

    /** The adapter with something else that finds the matches of an app in the place of Siddhi. */
    SiddhiEngine(Apps apps) {
        super(
                "siddhi",
                List.of("cel", "sase"),
                List.of("project", "or", "contiguous", "iteration", "correlation", "strict"));
        this.apps = apps;
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(SiddhiEngine::new);
    }

    @Override
    public Answer answer(Run run) {
        return new Answer.Matches(run.language().equals("cel") ? cel(run) : sase(run));
    }

    private SortedSet<Match> cel(Run run) {
        SiddhiClaims claims = new SiddhiClaims();
        Outline outline = Binder.outline(FormulaReader.formula(run.tree()), claims);
        Gathering gathering = new Gathering(outline.variables(), run.valuations());
        for (Chain chain : Chain.of(outline.shape(), claims::choiceInIteration)) {
            ChainSequence sequence = new ChainSequence(chain, outline, run.schema());
            new SiddhiRun(run, sequence.steps(), ",", "")
                    .run(apps, (at, row) -> gathering.add(at, definition -> row.getOrDefault(definition.name(), List.of())));
        }
        return gathering.matches();
    }

    private SortedSet<Match> sase(Run run) {
        SaseQuery query = SaseReader.query(run.tree());
        if (query.result() == null && run.valuations()) {
            throw SiddhiClaims.skip("a result that is not made of constants", "select");
        }
        SasePattern pattern = new SasePattern(query, run.schema());
        SortedSet<Match> matches = new TreeSet<>();
        new SiddhiRun(run, pattern.steps(), pattern.connective(), pattern.window())
                .run(apps, (at, row) -> {
                    SortedMap<String, SortedSet<Integer>> bindings = new TreeMap<>();
                    SortedSet<Integer> events = new TreeSet<>();
                    row.forEach((variable, positions) -> {
                        if (!positions.isEmpty()) {
                            bindings.put(variable, new TreeSet<>(positions));
                            events.addAll(positions);
                        }
                    });
                    if (!matches.add(new Match(at, events, bindings, query.result())) && matches.size() > 1_000_000) {
                        throw new Problem(Problem.Code.BUDGET, "more than a million matches");
                    }
                });
        return matches;
    }
}
