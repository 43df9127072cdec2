package cerify.adapters.flinksql;

import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.flink.types.Row;
import org.json.JSONObject;

/**
 * A clause in Flink's words, which has neither CLASSIFIER nor ALL ROWS PER MATCH: the positions of the rows of a match, and of
 * the first and the last row of each variable, are measures of their own. A variable has one place in a pattern, so its
 * rows are those between. One aggregate for all variables costs less than one for each: Flink compiles a class for it.
 */
final class Clause {

    private static final String OWN = "cerify_rows";
    private static final String FIRST = OWN + "_from_";
    private static final String LAST = OWN + "_to_";

    private final JSONObject parts;
    private final List<String> variables = new ArrayList<>();
    private final String table;

    /** The clause of a run's member {@code sql}. Throws Skip for one of WINDOW. */
    Clause(JSONObject sql) {
        parts = sql.getJSONObject("clause");
        table = sql.getString("table");
        if (parts.getString("rows").startsWith("ROWS BETWEEN")) {
            throw new Skip("Flink has row patterns in MATCH_RECOGNIZE alone, not in WINDOW", FlinkSqlEngine.MANUAL);
        }
        sql.getJSONArray("variables").forEach(variable -> variables.add((String) variable));
    }

    String statement() {
        String labels = "LISTAGG(CAST(cerify_place AS VARCHAR)) AS " + OWN
                + IntStream.range(0, variables.size())
                        .mapToObj(i -> ", FIRST(`%1$s`.cerify_place) AS %2$s%4$d, LAST(`%1$s`.cerify_place) AS %3$s%4$d"
                                .formatted(variables.get(i), FIRST, LAST, i))
                        .collect(Collectors.joining());
        String measures = parts.getString("measures");
        String order = parts.getString("order");
        return "SELECT * FROM " + table + " MATCH_RECOGNIZE ("
                + String.join(
                        " ",
                        parts.getString("partition"),
                        order.isEmpty() ? "ORDER BY " + Rows.TIME : order,
                        measures.isEmpty() ? "MEASURES " + labels : measures + ", " + labels,
                        parts.getString("rows"),
                        parts.getString("skip"),
                        parts.getString("pattern"),
                        parts.getString("subset"),
                        defined())
                + ")";
    }

    /** The definitions; DEFINE may not be left out. */
    private String defined() {
        String define = parts.getString("define");
        return define.isEmpty() && !variables.isEmpty() ? "DEFINE `" + variables.get(0) + "` AS 1 = 1" : define;
    }

    /** The rows of a result as the harness has them: a row for each label, and a row for each match. */
    List<Table> tables(List<Row> found) {
        List<String> own = new ArrayList<>();
        if (!found.isEmpty()) {
            found.get(0).getFieldNames(true).forEach(own::add);
            own.removeIf(name -> name.startsWith(OWN));
        }
        int keys = parts.getString("partition").isEmpty() ? 0 : parts.getString("partition").split(",").length;
        Map<List<Object>, Integer> numbers = new HashMap<>();
        List<List<Object>> labels = new ArrayList<>();
        List<List<Object>> measures = new ArrayList<>();
        for (Row row : found) {
            List<Object> values = new ArrayList<>();
            own.forEach(name -> values.add(row.getField(name)));
            List<Object> key = new ArrayList<>(values.subList(0, keys));
            int number = numbers.merge(key, 1, Integer::sum);
            List<Long> places = Stream.of(((String) row.getField(OWN)).split(",")).map(Long::valueOf).toList();
            for (int i = 0; i < variables.size(); i++) {
                if (row.getField(FIRST + i) == null) {
                    continue;
                }
                int end = places.lastIndexOf((Long) row.getField(LAST + i)) + 1;
                for (Long place : places.subList(places.indexOf((Long) row.getField(FIRST + i)), end)) {
                    List<Object> label = new ArrayList<>(key);
                    label.addAll(List.of(number, place, variables.get(i)));
                    labels.add(label);
                }
            }
            values.add(number);
            measures.add(values);
        }
        List<String> heads = new ArrayList<>(own.subList(0, found.isEmpty() ? 0 : keys));
        heads.addAll(List.of("cerify_number", "cerify_place", "cerify_label"));
        own.add("cerify_number");
        return List.of(new Table(heads, labels), new Table(own, measures));
    }
}
