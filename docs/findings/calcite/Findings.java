import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What Calcite answers to clauses of MATCH_RECOGNIZE over three rows, by Calcite alone. */
public final class Findings {

    private static final String TABLE = "SELECT * FROM (SELECT * FROM (VALUES (0, 1), (1, 2), (2, 3)) AS v (p, x))";
    private static final String[] CLAUSES = {
        "ORDER BY p MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS x = 1",
        "ORDER BY p MEASURES MATCH_NUMBER() AS c ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS A.x = 1",
        "ORDER BY p MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS B.x > PREV(B.x, 1)",
        "ORDER BY p MEASURES LAST(A.x) AS c ONE ROW PER MATCH PATTERN (A B) DEFINE B AS B.x > PREV(B.x, 1)",
        "ORDER BY p MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (A+ B) DEFINE B AS B.x > 1",
    };

    private Findings() {}

    /** Prints each clause with the number of its rows, or the first cause of the error. */
    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:calcite:conformance=LENIENT")) {
            for (String clause : CLAUSES) {
                System.out.println(clause);
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery(TABLE + " MATCH_RECOGNIZE (" + clause + ")")) {
                    int number = 0;
                    while (rows.next()) {
                        number++;
                    }
                    System.out.println("  " + number + " rows");
                } catch (SQLException | RuntimeException | AssertionError e) {
                    System.out.println("  " + cause(e).toString().lines().findFirst().orElse(""));
                }
            }
        }
    }

    private static Throwable cause(Throwable e) {
        if (e.getSuppressed().length > 0) {
            return cause(e.getSuppressed()[0]);
        }
        return e.getCause() == null ? e : cause(e.getCause());
    }
}
