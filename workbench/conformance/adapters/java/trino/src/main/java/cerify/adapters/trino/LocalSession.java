package cerify.adapters.trino;

import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.Table;
import io.trino.spi.ErrorCode;
import io.trino.spi.ErrorType;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.type.SqlTimestamp;
import io.trino.sql.parser.ParsingException;
import io.trino.testing.LocalQueryRunner;
import io.trino.testing.MaterializedResult;
import io.trino.testing.MaterializedRow;
import io.trino.testing.TestingSession;
import java.util.ArrayList;
import java.util.List;

/** Trino in this process, with one session for all statements. */
final class LocalSession {

    private static final String MANUAL = "https://trino.io/docs/435/sql/match-recognize.html";

    private final LocalQueryRunner runner =
            LocalQueryRunner.create(TestingSession.testSessionBuilder().build());

    /** The result of a statement; throws a Skip where Trino refuses it, and a Problem where it fails. */
    Table result(String statement) {
        try {
            MaterializedResult result = runner.execute(statement);
            List<List<Object>> rows = new ArrayList<>();
            result.getMaterializedRows().forEach(row -> rows.add(values(row)));
            return new Table(result.getColumnNames(), rows);
        } catch (ParsingException e) {
            throw new Skip("Trino does not parse it: " + e.getMessage(), MANUAL);
        } catch (TrinoException e) {
            throw refused(e);
        }
    }

    private static List<Object> values(MaterializedRow row) {
        List<Object> values = new ArrayList<>(row.getFields());
        values.replaceAll(value -> value instanceof SqlTimestamp time ? time.toLocalDateTime() : value);
        return values;
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
