import io.trino.testing.PlanTester;
import io.trino.testing.TestingSession;

/** What Trino 483 answers to each statement of the page, by Trino alone. */
public final class Findings {
    static final PlanTester TRINO = PlanTester.create(TestingSession.testSessionBuilder().build());

    static void show(String values, String measure, String order, String pattern, String define) {
        String statement = "SELECT id, x, m FROM (VALUES " + values + ") AS t (id, x) MATCH_RECOGNIZE (ORDER BY " + order
                + " MEASURES " + measure + " AS m ALL ROWS PER MATCH PATTERN (" + pattern + ") DEFINE " + define + ")";
        System.out.println(statement);
        try {
            var output = new PlanTester.MaterializedResultOutput();
            var result = TRINO.executePlan(session -> TRINO.createPlan(session, statement), output);
            result.getMaterializedRows().forEach(row -> System.out.println("  " + row.getFields()));
        } catch (RuntimeException e) {
            System.out.println("  " + e.getMessage());
        }
    }

    public static void main(String[] arguments) {
        String two = "(1, 10), (2, 20)", label = "CLASSIFIER()", all = "A AS TRUE";
        show(two, "RUNNING FIRST(x, 1)", "id", "A+", all);
        show(two, "RUNNING LAST(x, 1)", "id", "A+", all);
        show(two, "RUNNING FIRST(B.x)", "id", "A B", all);
        for (String pattern : new String[] {"PERMUTE(A)", "PERMUTE(A, B)"}) show(two, label, "id", pattern, all);
        for (String pattern : new String[] {"(B | A??)*", "(B? | A)*", "(B | A??) (B | A??)*", "(B | A??){0,3}"}) {
            show(two, label, "id", pattern, "B AS id = 1, A AS TRUE");
        }
        show(two, label, "id", "(A??)*", all);
        for (String pattern : new String[] {"(E*?)* Y", "(E*?){0,9} Y"}) {
            show("(1, 0), (2, 1), (3, 1)", label, "id", pattern, "E AS TRUE, Y AS x = 1");
        }
        for (String condition : new String[] {"PREV(CLASSIFIER()) = 'B'", "PREV(CLASSIFIER()) = 'A'", "LAST(CLASSIFIER(), 1) = 'B'"}) {
            show(two, label, "id", "(A | B) C", "C AS " + condition);
        }
        show("(1, 1), (2, NULL)", label, "x DESC", "A B", all);
        show(two, label, "id", "A{0} B", all);
        System.exit(0);
    }
}
