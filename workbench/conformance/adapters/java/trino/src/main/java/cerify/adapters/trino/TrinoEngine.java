package cerify.adapters.trino;

import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.SqlEngine;
import cerify.adapters.protocol.Table;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.json.JSONObject;

/** Trino under test: the statements of a run, executed in this process. */
final class TrinoEngine extends SqlEngine {

    private static final String FIRST =
            "SELECT * FROM (VALUES 1, 2) AS t (x) MATCH_RECOGNIZE (MEASURES LAST(x) AS m PATTERN (A+) DEFINE A AS x > 0)";

    private final Function<String, Table> results;

    /** The engine, whose runs share a session, with its classes loaded, so that the first run is not slower than the others. */
    TrinoEngine() {
        this(new LocalSession()::result);
        results.apply(FIRST);
    }

    /** The adapter with another source of the results of statements in the place of Trino. */
    TrinoEngine(Function<String, Table> results) {
        super("trino");
        this.results = results;
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(TrinoEngine::new);
    }

    @Override
    protected List<Table> tables(JSONObject sql, Consumer<String> executed) {
        String with = Literals.with(sql);
        List<String> statements =
                texts(sql, "selects").stream().map(select -> with + " " + select).toList();
        return results(statements, executed, results);
    }
}
