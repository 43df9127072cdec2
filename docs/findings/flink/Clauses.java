import java.time.Instant;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/** MATCH_RECOGNIZE in Flink SQL 2.3.0: where the next match begins, and variables in two spellings, on x of 1, 2, 3. */
public final class Clauses {
    static void show(String rest, String expected) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        Row[] rows = new Row[3];
        for (int i = 0; i < rows.length; i++) rows[i] = Row.of(Instant.ofEpochSecond(i), i + 1L);
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
    }
}
