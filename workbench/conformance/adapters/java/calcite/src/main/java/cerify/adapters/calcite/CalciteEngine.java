package cerify.adapters.calcite;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.EngineVersion;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.Table;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Calcite under test: the statements of a run, by its driver of JDBC. */
final class CalciteEngine implements Engine {

    private static final String MANUAL = "https://calcite.apache.org/docs/reference.html";

    private static final String DEFAULT = " SHOW EMPTY MATCHES"; // which Calcite does not parse

    private final String version = EngineVersion.of(CalciteEngine.class, "/cerify-calcite.properties");

    @Override
    public String name() {
        return "calcite";
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
        try (Connection connection = DriverManager.getConnection("jdbc:calcite:conformance=LENIENT")) {
            List<Table> tables = new ArrayList<>();
            for (Object statement : run.sql().getJSONArray("statements")) {
                tables.add(result(connection, ((String) statement).replace(DEFAULT, "")));
            }
            return new Answer.Tables(tables);
        } catch (SQLException e) {
            throw new Problem(Problem.Code.INTERNAL, e.toString(), e);
        }
    }

    private static Table result(Connection connection, String text) throws SQLException {
        try (PreparedStatement statement = prepared(connection, text);
                ResultSet found = statement.executeQuery()) {
            ResultSetMetaData about = found.getMetaData();
            List<String> columns = new ArrayList<>();
            for (int i = 1; i <= about.getColumnCount(); i++) {
                columns.add(about.getColumnLabel(i));
            }
            List<List<Object>> rows = new ArrayList<>();
            while (found.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= columns.size(); i++) {
                    row.add(found.getObject(i));
                }
                rows.add(row);
            }
            return new Table(columns, rows);
        }
    }

    /** The statement, planned and compiled; what Calcite refuses then is no answer. */
    private static PreparedStatement prepared(Connection connection, String text) {
        try {
            return connection.prepareStatement(text);
        } catch (SQLException | RuntimeException | AssertionError e) {
            String reason = cause(e).toString().lines().findFirst().orElse("");
            throw new Skip("Calcite refuses it: " + reason, MANUAL);
        }
    }

    /** The first of the causes; that a plan cannot be implemented has its reason among the suppressed ones. */
    private static Throwable cause(Throwable e) {
        if (e.getSuppressed().length > 0) {
            return cause(e.getSuppressed()[0]);
        }
        return e.getCause() == null ? e : cause(e.getCause());
    }
}
