import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.extensions.sql.SqlTransform;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.*;
import org.apache.beam.sdk.values.*;

/** What Beam SQL answers to clauses of MATCH_RECOGNIZE over rows (n, z), by Beam alone; - is NULL. */
public final class Findings {

    private static final Schema ROWS = Schema.builder().addInt32Field("n").addNullableStringField("z").build();
    private static final Queue<Object> FOUND = new ConcurrentLinkedQueue<>();
    private static final List<String> CLAUSES = List.of("A+ B: z = 'a': aab", "A+ B: z >= 'a': abab", "A+: z = 'a': aab",
            "A* B: z = 'a': bab", "A? B: z = 'a': bab", "A{2} B: z = 'a': aab", "A | B: z = 'a': bab",
            "PERMUTE(B, A): z = 'a': aba", "(A B)+: z = 'a': ab", "A B: z >= 'a': bbb", "^ A: z = 'a': ba",
            "A $: z = 'a': ab", "A: z = 'a': -a", "A: z IS NULL: -a", "A: NOT z = 'a': ab", "A: z = 'a' AND z < 'b': ab",
            "A: n = 1: ab", "A: A.z = 'a': ab", "A B: z >= 'a': ab: A.z = 'a'", "A B: z >= 'a': ba: A.z = 'a'");

    /** Prints, of each match, n of the first row of A and of the last row of B, or of A; or the error. */
    public static void main(String[] arguments) {
        for (String clause : CLAUSES) {
            String[] parts = clause.split(": ");
            String last = parts[0].contains("B") ? "B" : "A";
            String query = "SELECT * FROM PCOLLECTION MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(A.n) AS f, LAST(" + last
                    + ".n) AS l AFTER MATCH SKIP TO NEXT ROW PATTERN (" + parts[0] + ") DEFINE A AS " + parts[1]
                    + (last.equals("B") ? ", B AS " + (parts.length > 3 ? parts[3] : "z = 'b'") + ")" : ")");
            List<Row> rows = IntStream.range(0, parts[2].length()).mapToObj(n -> Row.withSchema(ROWS)
                    .addValues(n, parts[2].charAt(n) == '-' ? null : parts[2].substring(n, n + 1)).build()).toList();
            FOUND.clear();
            try {
                Pipeline pipeline = Pipeline.create();
                pipeline.apply(Create.of(rows).withRowSchema(ROWS)).apply(SqlTransform.query(query))
                        .apply(Filter.by(row -> FOUND.add(row.getValues())));
                pipeline.run().waitUntilFinish();
            } catch (RuntimeException e) {
                Throwable cause = e;
                for (; cause.getCause() != null; cause = cause.getCause()) {}
                FOUND.add(cause);
            }
            System.out.println(clause + " -> " + FOUND);
        }
    }
}
