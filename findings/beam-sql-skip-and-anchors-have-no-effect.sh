#!/usr/bin/env bash
# Beam SQL 2.71.0 (Java), MATCH_RECOGNIZE on the direct runner. Beam plans these clauses without a word:
# - AFTER MATCH SKIP has no effect: with SKIP TO NEXT ROW, as with SKIP PAST LAST ROW, the next match begins after the last row.
# - `^` and `$` have no effect: a match can begin and end in the middle of the partition.
# - `A+` in last place needs one row more than it takes: on one row it has no match; on four rows it has three, each of the first row.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>look</groupId><artifactId>look</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.beam</groupId><artifactId>beam-sdks-java-extensions-sql</artifactId><version>2.71.0</version></dependency>
    <dependency><groupId>org.apache.beam</groupId><artifactId>beam-runners-direct-java</artifactId><version>2.71.0</version></dependency>
  </dependencies>
</project>
END
cat > Look.java <<'END'
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.extensions.sql.SqlTransform;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.Filter;
import org.apache.beam.sdk.values.Row;

public class Look {
    static final Schema ROWS = Schema.builder().addInt32Field("n").addStringField("z").build();
    static final ConcurrentLinkedQueue<String> FOUND = new ConcurrentLinkedQueue<>();

    public static void main(String[] arguments) {
        String both = " PATTERN (A B) DEFINE A AS z = 'b', B AS z = 'b'";
        show("bbb", "A", "B", "AFTER MATCH SKIP TO NEXT ROW" + both);
        show("bbb", "A", "B", "AFTER MATCH SKIP PAST LAST ROW" + both);
        show("abb", "B", "B", "PATTERN (^ B) DEFINE B AS z = 'b'");
        show("bba", "B", "B", "PATTERN (B $) DEFINE B AS z = 'b'");
        show("a", "A", "A", "PATTERN (A+) DEFINE A AS z = 'a'");
        show("aaaa", "A", "A", "PATTERN (A+) DEFINE A AS z = 'a'");
    }

    static void show(String table, String first, String last, String clause) {
        List<Row> rows = IntStream.range(0, table.length())
                .mapToObj(n -> Row.withSchema(ROWS).addValues(n, table.substring(n, n + 1)).build()).toList();
        Pipeline pipeline = Pipeline.create();
        pipeline.apply(Create.of(rows).withRowSchema(ROWS))
                .apply(SqlTransform.query("SELECT * FROM PCOLLECTION MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(" + first
                        + ".n) AS f, LAST(" + last + ".n) AS l " + clause + ")"))
                .apply(Filter.by(row -> FOUND.add(row.getInt32("f") + " to " + row.getInt32("l"))));
        pipeline.run().waitUntilFinish();
        System.out.println(clause + " on " + table + ": " + FOUND.stream().sorted().toList());
        FOUND.clear();
    }
}
END
mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath
javac -proc:none -cp "$(cat classpath)" Look.java
java -cp ".:$(cat classpath)" Look > seen 2> errors || { cat errors; exit 1; }
cat seen
diff seen - <<'SEEN'
AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS z = 'b', B AS z = 'b' on bbb: [0 to 1]
AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS z = 'b', B AS z = 'b' on bbb: [0 to 1]
PATTERN (^ B) DEFINE B AS z = 'b' on abb: [1 to 1, 2 to 2]
PATTERN (B $) DEFINE B AS z = 'b' on bba: [0 to 0, 1 to 1]
PATTERN (A+) DEFINE A AS z = 'a' on a: []
PATTERN (A+) DEFINE A AS z = 'a' on aaaa: [0 to 0, 0 to 0, 0 to 0]
SEEN
