import java.time.Instant;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/** MATCH_RECOGNIZE in Flink SQL 2.3.0: five examples of its manual, of which it gives two as the manual prints them. */
public final class Manual {
    static void show(String rest, String expected, int seconds, long... x) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        Row[] rows = new Row[x.length];
        for (int i = 0; i < rows.length; i++) rows[i] = Row.of(Instant.ofEpochSecond((long) seconds * i), x[i]);
        var schema = Schema.newBuilder().column("at", "TIMESTAMP_LTZ(3)").column("x", "BIGINT").watermark("at", "`at`");
        var type = Types.ROW_NAMED(new String[] {"at", "x"}, Types.INSTANT, Types.LONG);
        tables.createTemporaryView("t", environment.fromData(type, rows), schema.build());
        System.out.println(rest + "\n  by the manual " + expected);
        tables.executeSql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY `at` MEASURES " + rest + ")").print();
    }

    public static void main(String[] arguments) {
        String rising = "FIRST(A.x) AS a, LAST(A.x) AS c, B.x AS b PATTERN (A+ B)"
                + " DEFINE A AS LAST(A.x, 1) IS NULL OR A.x > LAST(A.x, 1), B AS B.x < LAST(A.x)";
        show(rising, "10, 13, 11 and no other", 1, 10, 12, 13, 11);
        String sums = "SUM(A.x) AS s AFTER MATCH SKIP TO %s PATTERN (A+ C) DEFINE A AS SUM(A.x) < 30";
        show(sums.formatted("NEXT ROW"), "26, 24, 25, 22, 17", 1, 7, 9, 10, 5, 10, 7, 14);
        show(sums.formatted("LAST A"), "26, 25, 17", 1, 7, 9, 10, 5, 10, 7, 14);
        String mean = "AVG(A.x) AS m AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS AVG(A.x) < 15";
        show(mean, "14.5, 13.5", 1, 12, 17, 13, 16, 25, 2, 4, 10, 15, 25, 25, 30);
        String drop = "A.x - C.x AS d AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) WITHIN INTERVAL '1' HOUR"
                + " DEFINE B AS B.x > A.x - 10, C AS C.x < A.x - 10";
        show(drop, "14", 1200, 20, 17, 18, 11, 14, 9, 15, 14, 24, 1, 19);
    }
}
