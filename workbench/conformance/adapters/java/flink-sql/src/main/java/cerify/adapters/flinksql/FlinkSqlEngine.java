package cerify.adapters.flinksql;

import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.SqlEngine;
import cerify.adapters.protocol.Table;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.config.TableConfigOptions;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;
import org.json.JSONArray;
import org.json.JSONObject;

/** Flink SQL under test: the clause over a table with a row time, on a local cluster. */
final class FlinkSqlEngine extends SqlEngine {

    static final String MANUAL =
            "https://nightlies.apache.org/flink/flink-docs-stable/docs/sql/reference/queries/match_recognize/";

    /** The operators that Flink may plan. It has no others, so that they are not asked for; what else it refuses is skipped. */
    private static final List<String> OPERATORS = List.of(
            "variable", "concatenation", "quantified", "reluctant", "anchor", "partition by", "measures", "define", "skip to",
            "skip to next row", "column", "logical", "aggregate", "count", "final", "constant", "comparison", "is_null",
            "between", "in", "like", "not", "and", "or", "negative", "sum", "product", "abs", "cast", "coalesce", "case");

    private static final String FIRST = """
            {"table": "first", "columns": [{"name": "cerify_place", "type": "BIGINT"}], "rows": [[0]], "variables": ["A"],
             "clause": {"partition": "", "order": "", "measures": "", "rows": "ONE ROW PER MATCH", "skip": "",
                        "pattern": "PATTERN (A)", "subset": "", "define": ""}}""";

    /** Characters of a method: shorter ones are not parsed in order to split them, which took a third of a run's time. */
    private static final int UNSPLIT = 60_000;

    private final BiFunction<JSONObject, String, List<Row>> results;

    /** The engine, whose runs share a cluster, with its classes loaded, so that the first run is not slower than the others. */
    FlinkSqlEngine() {
        this(statements(new LocalCluster()));
        tables(new JSONObject(FIRST), statement -> {});
    }

    /** The adapter with another source of the rows of a statement, over the table of a run, in the place of Flink. */
    FlinkSqlEngine(BiFunction<JSONObject, String, List<Row>> results) {
        super("flink-sql");
        this.results = results;
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(FlinkSqlEngine::new);
    }

    @Override
    public JSONObject claims() {
        return new JSONObject().put("row-pattern", new JSONObject().put("operators", new JSONArray(OPERATORS)));
    }

    @Override
    protected List<Table> tables(JSONObject sql, Consumer<String> executed) {
        Clause clause = new Clause(sql);
        executed.accept(clause.statement());
        return clause.tables(results.apply(sql, clause.statement()));
    }

    private static BiFunction<JSONObject, String, List<Row>> statements(LocalCluster cluster) {
        return (sql, statement) -> rows(cluster, sql, statement);
    }

    private static List<Row> rows(LocalCluster cluster, JSONObject sql, String statement) {
        StreamExecutionEnvironment environment = cluster.environment();
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(environment, EnvironmentSettings.inStreamingMode());
        tables.getConfig().set(TableConfigOptions.MAX_LENGTH_GENERATED_CODE, UNSPLIT);
        TableResult result;
        try {
            Rows.register(sql, environment, tables);
            result = tables.sqlQuery(statement).execute();
        } catch (RuntimeException | AssertionError e) {
            throw new Skip("Flink refuses it: " + cause(e), MANUAL);
        }
        List<Row> rows = new ArrayList<>();
        try (CloseableIterator<Row> found = result.collect()) {
            found.forEachRemaining(rows::add);
        } catch (Exception e) {
            if (cause(e) instanceof ArithmeticException zero) {
                throw new Skip("Flink stops: " + zero.getMessage(), MANUAL);
            }
            throw new Problem(Problem.Code.INTERNAL, cause(e).toString(), e);
        }
        return rows;
    }

    private static Throwable cause(Throwable e) {
        return e.getCause() == null ? e : cause(e.getCause());
    }
}
