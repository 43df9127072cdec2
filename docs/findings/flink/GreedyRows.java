import java.time.Instant;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/** MATCH_RECOGNIZE in Flink SQL: greedy and optional variables, anchors, a cast, a division, and PREV. */
public final class GreedyRows {
    /** Prints what is expected of each pattern, and the rows that Flink reports. */
    public static void main(String[] arguments) {
        report("A* B", "x > 0", "the row 1", 1);
        report("A* B", "x > 0", "the row 2", 1, 2);
        report("A{1,2} B", "x > 0", "the row 3", 1, 2, 3);
        report("A*? B", "x > 0", "the row 1, and the row 2", 1, 2);
        report("A? B", "x > 0", "the row 2", 1, 2);
        report("^ B", "x > 0", "the row 1", 1, 2);
        report("B $", "x > 0", "the row 2", 1, 2);
        report("B", "CAST(x / 2.0 AS BIGINT) = 1", "the row 1", 1, 3);
        report("B", "CAST(x AS DOUBLE) / 0 IS NULL", "the row 1", 1);
        report("B", "PREV(x) = 1", "the row 2", 1, 2);
        report("A B", "PREV(x) = 1", "the row 2", 1, 2);
    }

    private static void report(String pattern, String condition, String expected, long... values) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        Row[] rows = new Row[values.length];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = Row.of(Instant.ofEpochSecond(i), values[i]);
        }
        var schema = Schema.newBuilder().column("at", "TIMESTAMP_LTZ(3)").column("x", "BIGINT").watermark("at", "`at`");
        var type = Types.ROW_NAMED(new String[] {"at", "x"}, Types.INSTANT, Types.LONG);
        tables.createTemporaryView("t", environment.fromData(type, rows), schema.build());
        System.out.println(pattern + " on " + values.length + " rows: as the last row of each match expected " + expected);
        tables.executeSql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY `at` MEASURES B.x AS b PATTERN (" + pattern
                + ") DEFINE " + (pattern.contains("A") ? "A AS x > 0, " : "") + "B AS " + condition + ")").print();
    }
}
