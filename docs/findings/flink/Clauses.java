import java.time.Instant;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/** MATCH_RECOGNIZE in Flink SQL 2.3.0: where the next match begins, variables in two spellings, and examples of the manual. */
public final class Clauses {
    static void show(String rest, String expected) {
        show(rest, expected, 1, 1, 2, 3);
    }

    /** Prints the matches on a table with these x, so many seconds apart. */
    static void show(String rest, String expected, int seconds, long... x) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        Row[] rows = new Row[x.length];
        for (int i = 0; i < rows.length; i++) rows[i] = Row.of(Instant.ofEpochSecond((long) seconds * i), x[i]);
        var schema = Schema.newBuilder().column("at", "TIMESTAMP_LTZ(3)").column("x", "BIGINT").watermark("at", "`at`");
        var type = Types.ROW_NAMED(new String[] {"at", "x"}, Types.INSTANT, Types.LONG);
        tables.createTemporaryView("t", environment.fromData(type, rows), schema.build());
        System.out.println(rest + "\n  expected x = " + expected);
        try {
            tables.executeSql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY `at` MEASURES " + rest + ")").print();
        } catch (RuntimeException e) {
            System.out.println("  refused: " + e.getMessage());
        }
    }

    public static void main(String[] arguments) {
        show("A.x AS a, B.x AS b PATTERN (A B) DEFINE A AS x > 0, B AS x > 0", "1 and 2, and no other match");
        String past = "A.x AS a, B.x AS b AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS x > 0, B AS x > 0";
        show(past, "the same");
        show("B.x AS b AFTER MATCH SKIP PAST LAST ROW PATTERN (B) DEFINE B AS x > 1", "2 and 3");
        show("B.x AS b AFTER MATCH SKIP PAST LAST ROW PATTERN (B) DEFINE b AS x > 1", "2 and 3: b is the name B");
        String rising = "FIRST(A.x) AS a, LAST(A.x) AS c, B.x AS b %s PATTERN (A+ B)"
                + " DEFINE A AS LAST(A.x, 1) IS NULL OR A.x > LAST(A.x, 1), B AS B.x < LAST(A.x)";
        show(rising.formatted(""), "by the manual 10, 13, 11", 1, 10, 12, 13, 11);
        show(rising.formatted("AFTER MATCH SKIP PAST LAST ROW"), "10, 13, 11", 1, 10, 12, 13, 11);
        String sums = "SUM(A.x) AS s AFTER MATCH SKIP TO %s PATTERN (A+ C) DEFINE A AS SUM(A.x) < 30";
        show(sums.formatted("NEXT ROW"), "26, 24, 25, 22, 17; by the standard 7 too", 1, 7, 9, 10, 5, 10, 7, 14);
        show(sums.formatted("LAST A"), "26, 25, 17; by the standard an error then", 1, 7, 9, 10, 5, 10, 7, 14);
        String drop = "A.x - C.x AS d AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) WITHIN INTERVAL '1' HOUR"
                + " DEFINE B AS B.x > A.x - 10, C AS C.x < A.x - 10";
        show(drop, "by the manual 14, in exactly an hour", 1200, 20, 17, 18, 11, 14, 9, 15, 14, 24, 1, 19);
    }
}
