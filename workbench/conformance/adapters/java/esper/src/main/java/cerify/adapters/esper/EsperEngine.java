package cerify.adapters.esper;

import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Gathering;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Esper under test.
 *
 * <p>Esper reports a row for each way of matching, and CEL's output is a set of complex events, so the rows of a run are
 * gathered into a set. The position of a match is that of the event during whose processing Esper reported it.
 */
final class EsperEngine extends Engine {

    private final Statements statements;

    /** The engine; it holds nothing between runs. */
    EsperEngine() {
        this((translation, run, receiver) -> new EplModule(translation.epl(), translation.type()).run(run, receiver));
    }

    /** The adapter with something else that finds the rows of a module in the place of Esper. */
    EsperEngine(Statements statements) {
        super(
                "esper",
                List.of("cel"),
                List.of("project", "or", "contiguous", "iteration", "correlation", "strict", "nxt"));
        this.statements = statements;
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(EsperEngine::new);
    }

    @Override
    public Answer answer(Run run) {
        CelToEpl translation = CelToEpl.translate(run);
        Gathering gathering = new Gathering(translation.outline().variables(), run.valuations());
        run.translated(translation.epl());
        statements.run(translation, run, (at, row) -> gathering.add(at, definition -> positions(row, definition)));
        return new Answer.Matches(gathering.matches());
    }

    private static Set<Integer> positions(Function<String, Object> row, Definition definition) {
        Set<Integer> positions = new TreeSet<>();
        addPositions(row.apply(definition.name()), positions);
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
