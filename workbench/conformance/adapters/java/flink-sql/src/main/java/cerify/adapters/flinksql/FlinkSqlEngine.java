package cerify.adapters.flinksql;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.EngineVersion;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import cerify.adapters.protocol.Skip;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** Flink SQL under test: the clause over a table with a row time, on a local cluster. */
final class FlinkSqlEngine implements Engine {

    private static final String MANUAL =
            "https://nightlies.apache.org/flink/flink-docs-stable/docs/sql/reference/queries/match_recognize/";

    private final String version = EngineVersion.of(FlinkSqlEngine.class, "/cerify-flink-sql.properties");

    @Override
    public String name() {
        return "flink-sql";
    }

    @Override
    public String version() {
        return version;
    }

    @Override
    public List<String> languages() {
        return List.of("row-pattern");
    }

    @Override
    public List<String> features() {
        return List.of();
    }

    @Override
    public Answer answer(Run run) {
        if (run.sql() == null) {
            throw new Problem(Problem.Code.PARSE, "the query is no clause of MATCH_RECOGNIZE");
        }
        Clause clause = new Clause(run.sql());
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(environment, EnvironmentSettings.inStreamingMode());
        TableResult result;
        try {
            Rows.register(run.sql(), environment, tables);
            result = tables.sqlQuery(clause.statement()).execute();
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
        return new Answer.Tables(clause.tables(rows));
    }

    private static Throwable cause(Throwable e) {
        return e.getCause() == null ? e : cause(e.getCause());
    }
}
