package cerify.adapters.calcite;

import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.SqlEngine;
import cerify.adapters.protocol.Table;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.json.JSONObject;

/** Calcite under test: the statements of a run, by its driver of JDBC. */
final class CalciteEngine extends SqlEngine {

    private static final String MANUAL = "https://calcite.apache.org/docs/reference.html";

    private static final Pattern QUOTED_OR_DEFAULT = Pattern.compile("('[^']*'|\"[^\"]*\")| SHOW EMPTY MATCHES");

    private final Function<String, Table> results;

    /** The engine; it holds nothing between runs. */
    CalciteEngine() {
        this(CalciteEngine::result);
    }

    /** The adapter with another source of the results of statements in the place of Calcite. */
    CalciteEngine(Function<String, Table> results) {
        super("calcite");
        this.results = results;
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(CalciteEngine::new);
    }

    @Override
    protected List<Table> tables(JSONObject sql, Consumer<String> executed) {
        List<String> statements =
                texts(sql, "statements").stream().map(CalciteEngine::withoutDefault).toList();
        return results(statements, executed, results);
    }

    /** The statement without SHOW EMPTY MATCHES, the default, which Calcite does not parse. */
    static String withoutDefault(String statement) {
        return QUOTED_OR_DEFAULT
                .matcher(statement)
                .replaceAll(found -> found.group(1) == null ? "" : Matcher.quoteReplacement(found.group()));
    }

    private static Table result(String text) {
        try (Connection connection = DriverManager.getConnection("jdbc:calcite:conformance=LENIENT");
                PreparedStatement statement = prepared(connection, text);
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
                    Object value = found.getObject(i);
                    row.add(value instanceof Timestamp time ? time.toLocalDateTime() : value);
                }
                rows.add(row);
            }
            return new Table(columns, rows);
        } catch (SQLException e) {
            throw internal(e);
        }
    }

    private static Problem internal(SQLException e) {
        return new Problem(Problem.Code.INTERNAL, e.toString(), e);
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
