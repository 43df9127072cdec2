import io.trino.testing.PlanTester;
import io.trino.testing.TestingSession;

/** What Trino answers to each statement of the page, by Trino alone. */
public final class Findings {

    private static final String LABELS = "SELECT m FROM (VALUES 1, 2) AS t (id) MATCH_RECOGNIZE ("
            + "ORDER BY id MEASURES CLASSIFIER() AS m ALL ROWS PER MATCH PATTERN ";

    private static final String[] STATEMENTS = {
        "SELECT m FROM (VALUES (1, 10), (2, 20)) AS t (id, x) MATCH_RECOGNIZE ("
                + "ORDER BY id MEASURES RUNNING FIRST(x, 1) AS m ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS TRUE)",
        "SELECT m FROM (VALUES (1, 10), (2, 20)) AS t (id, x) MATCH_RECOGNIZE ("
                + "ORDER BY id MEASURES RUNNING LAST(x, 1) AS m ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS TRUE)",
        "SELECT m FROM (VALUES (1, 10), (2, 20)) AS t (id, x) MATCH_RECOGNIZE ("
                + "ORDER BY id MEASURES RUNNING FIRST(B.x) AS m ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS TRUE)",
        LABELS + "(PERMUTE(A)) DEFINE A AS TRUE)",
        LABELS + "(PERMUTE(A, B)) DEFINE A AS TRUE)",
        "SELECT id, n, m FROM (VALUES 1, 2) AS t (id) MATCH_RECOGNIZE (ORDER BY id MEASURES MATCH_NUMBER() AS n, "
                + "CLASSIFIER() AS m ALL ROWS PER MATCH PATTERN ((B | A??)*) DEFINE B AS id = 1, A AS TRUE)",
        "SELECT id, n, m FROM (VALUES 1, 2) AS t (id) MATCH_RECOGNIZE (ORDER BY id MEASURES MATCH_NUMBER() AS n, "
                + "CLASSIFIER() AS m ALL ROWS PER MATCH PATTERN ((B | A??){0,3}) DEFINE B AS id = 1, A AS TRUE)",
        "SELECT x, m FROM (VALUES (1, 0), (2, 1), (3, 1)) AS t (id, x) MATCH_RECOGNIZE (ORDER BY id MEASURES "
                + "CLASSIFIER() AS m ALL ROWS PER MATCH PATTERN ((E*?)* Y) DEFINE E AS TRUE, Y AS x = 1)",
        "SELECT x, m FROM (VALUES (1, 0), (2, 1), (3, 1)) AS t (id, x) MATCH_RECOGNIZE (ORDER BY id MEASURES "
                + "CLASSIFIER() AS m ALL ROWS PER MATCH PATTERN ((E*?){0,9} Y) DEFINE E AS TRUE, Y AS x = 1)",
        LABELS + "((A | B) C) DEFINE C AS PREV(CLASSIFIER()) = 'B')",
        LABELS + "((A | B) C) DEFINE C AS PREV(CLASSIFIER()) = 'A')",
        LABELS + "((A | B) C) DEFINE C AS LAST(CLASSIFIER(), 1) = 'B')",
        "SELECT x, m FROM (VALUES 1, NULL) AS t (x) MATCH_RECOGNIZE ("
                + "ORDER BY x DESC MEASURES CLASSIFIER() AS m ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS TRUE)",
        "SELECT m FROM (VALUES 1, 2) AS t (id) MATCH_RECOGNIZE ("
                + "ORDER BY id MEASURES CLASSIFIER() AS m PATTERN (A{0} B) DEFINE A AS TRUE)",
    };

    private Findings() {}

    /** Prints each statement with its rows, or the error. */
    public static void main(String[] arguments) {
        PlanTester trino = PlanTester.create(TestingSession.testSessionBuilder().build());
        for (String statement : STATEMENTS) {
            System.out.println(statement);
            try {
                trino.executePlan(
                                session -> trino.createPlan(session, statement),
                                new PlanTester.MaterializedResultOutput())
                        .getMaterializedRows()
                        .forEach(row -> System.out.println("  " + row.getFields()));
            } catch (RuntimeException e) {
                System.out.println("  " + e.getMessage());
            }
        }
        System.exit(0);
    }
}
