package cerify.adapters.flinksql;

import cerify.adapters.protocol.Table;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.types.Row;
import org.json.JSONObject;

/**
 * A clause in Flink's words, which has neither CLASSIFIER nor ALL ROWS PER MATCH: the positions of the rows of each variable
 * are measures of their own.
 */
final class Clause {

    private static final String LABEL = "cerify_rows_of_";

    private final JSONObject parts;
    private final List<String> variables = new ArrayList<>();
    private final String table;

    Clause(JSONObject sql) {
        parts = sql.getJSONObject("clause");
        table = sql.getString("table");
        sql.getJSONArray("variables").forEach(variable -> variables.add((String) variable));
    }

    String statement() {
        String labels = IntStream.range(0, variables.size())
                .mapToObj(i -> "LISTAGG(CAST(`" + variables.get(i) + "`.cerify_place AS VARCHAR)) AS " + LABEL + i)
                .collect(Collectors.joining(", "));
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
            own.removeIf(name -> name.startsWith(LABEL));
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
            List<List<Object>> mine = new ArrayList<>();
            for (int i = 0; i < variables.size(); i++) {
                String places = (String) row.getField(LABEL + i);
                for (String place : places == null || places.isEmpty() ? new String[0] : places.split(",")) {
                    List<Object> label = new ArrayList<>(key);
                    label.addAll(List.of(number, Long.valueOf(place), variables.get(i)));
                    mine.add(label);
                }
            }
            mine.sort(Comparator.comparing(label -> (Long) label.get(keys + 1)));
            labels.addAll(mine);
            values.add(number);
            measures.add(values);
        }
        List<String> heads = new ArrayList<>(own.subList(0, found.isEmpty() ? 0 : keys));
        heads.addAll(List.of("cerify_number", "cerify_place", "cerify_label"));
        own.add("cerify_number");
        return List.of(new Table(heads, labels), new Table(own, measures));
    }
}
