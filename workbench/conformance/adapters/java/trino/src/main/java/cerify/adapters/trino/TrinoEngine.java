package cerify.adapters.trino;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.EngineVersion;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.Table;
import io.trino.spi.ErrorCode;
import io.trino.spi.ErrorType;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.sql.parser.ParsingException;
import io.trino.testing.LocalQueryRunner;
import io.trino.testing.MaterializedResult;
import io.trino.testing.TestingSession;
import java.util.ArrayList;
import java.util.List;

/** Trino under test: the statements of a run, executed in this process. */
final class TrinoEngine implements Engine {

    private static final String MANUAL = "https://trino.io/docs/435/sql/match-recognize.html";

    private final String version = EngineVersion.of(TrinoEngine.class, "/cerify-trino.properties");
    private LocalQueryRunner runner; // what it prints when it is made must not be on standard output

    @Override
    public String name() {
        return "trino";
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
        if (runner == null) {
            runner = LocalQueryRunner.create(TestingSession.testSessionBuilder().build());
        }
        List<Table> tables = new ArrayList<>();
        for (Object statement : run.sql().getJSONArray("statements")) {
            tables.add(result((String) statement));
        }
        return new Answer.Tables(tables);
    }

    private Table result(String statement) {
        try {
            MaterializedResult result = runner.execute(statement);
            List<List<Object>> rows = new ArrayList<>();
            result.getMaterializedRows().forEach(row -> rows.add(row.getFields()));
            return new Table(result.getColumnNames(), rows);
        } catch (ParsingException e) {
            throw new Skip("Trino does not parse it: " + e.getMessage(), MANUAL);
        } catch (TrinoException e) {
            throw refused(e);
        }
    }

    /** Errors of planning are no answers; of those while rows are read a division by zero is NULL in the definition. */
    private static RuntimeException refused(TrinoException e) {
        ErrorCode code = e.getErrorCode();
        if (code.equals(StandardErrorCode.DIVISION_BY_ZERO.toErrorCode())) {
            return new Skip("Trino stops at a division by zero", MANUAL);
        }
        if (code.equals(StandardErrorCode.GENERIC_USER_ERROR.toErrorCode())) { // AFTER MATCH SKIP leads nowhere
            return new Problem(Problem.Code.ILL_FORMED, e.getMessage());
        }
        if (code.getType() == ErrorType.USER_ERROR) {
            return new Skip("Trino refuses it: " + code.getName() + ": " + e.getMessage(), MANUAL);
        }
        boolean scarce = code.getType() == ErrorType.INSUFFICIENT_RESOURCES;
        return new Problem(scarce ? Problem.Code.BUDGET : Problem.Code.INTERNAL, e.getMessage(), e);
    }
}
