package cerify.adapters.flinksql;

import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.SqlEngine;
import cerify.adapters.protocol.Table;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.config.TableConfigOptions;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
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

    /** Plans of statements that are kept: to plan one takes longer than to run it, and a campaign asks most more than once. */
    private static final int KEPT = 200;

    /** The rows of the table of the job that runs, and those of its result; the cluster is in this process. */
    private static volatile List<Row> given = List.of();

    private static final Queue<Row> FOUND = new ConcurrentLinkedQueue<>();

    private final BiFunction<JSONObject, String, List<Row>> results;

    /** The engine, whose runs share a cluster, with its classes loaded, so that the first run is not slower than the others. */
    FlinkSqlEngine() {
        this(statements());
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

    private static BiFunction<JSONObject, String, List<Row>> statements() {
        LocalCluster cluster = new LocalCluster();
        Map<List<String>, Supplier<JobGraph>> plans = new HashMap<>();
        return (sql, statement) -> {
            if (plans.size() == KEPT) {
                plans.clear();
            }
            String columns = sql.getJSONArray("columns").toString();
            return rows(cluster, sql, plans.computeIfAbsent(List.of(statement, columns), any -> plan(sql, statement)));
        };
    }

    private static List<Row> rows(LocalCluster cluster, JSONObject sql, Supplier<JobGraph> plan) {
        JobGraph job = plan.get();
        FOUND.clear();
        given = Rows.of(sql);
        try {
            cluster.run(job);
        } catch (Exception e) {
            if (cause(e) instanceof ArithmeticException zero) {
                throw new Skip("Flink stops: " + zero.getMessage(), MANUAL);
            }
            throw new Problem(Problem.Code.INTERNAL, cause(e).toString(), e);
        }
        return List.copyOf(FOUND);
    }

    /** The job of a statement; what is given throws a Skip where Flink refuses it. */
    private static Supplier<JobGraph> plan(JSONObject sql, String statement) {
        try {
            JobGraph job = job(sql, statement);
            return () -> job;
        } catch (RuntimeException | AssertionError e) {
            String why = "Flink refuses it: " + cause(e);
            return () -> {
                throw new Skip(why, MANUAL);
            };
        }
    }

    private static JobGraph job(JSONObject sql, String statement) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(environment, EnvironmentSettings.inStreamingMode());
        tables.getConfig().set(TableConfigOptions.MAX_LENGTH_GENERATED_CODE, UNSPLIT);
        DataStream<Row> rows = environment
                .fromCollection(List.of(0), Types.INT)
                .flatMap((Integer any, Collector<Row> table) -> given.forEach(table::collect))
                .returns(Rows.type(sql));
        tables.createTemporaryView(sql.getString("table"), rows, Rows.schema(sql));
        tables.toDataStream(tables.sqlQuery(statement))
                .map(row -> FOUND.add(row)) // not FOUND::add, which sends the queue itself
                .returns(Types.BOOLEAN)
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    private static Throwable cause(Throwable e) {
        return e.getCause() == null ? e : cause(e.getCause());
    }
}
