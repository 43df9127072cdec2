package cerify.adapters.cases;

import cerify.adapters.protocol.Table;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.json.JSONArray;
import org.json.JSONObject;

/** Tables in JSON: of an answer as text, as far as matches are read from them, and as the result of a statement. */
public final class Tables {

    private static final String NUMBER = "cerify_number";

    private Tables() {}

    /** The result of a statement from its columns and rows in JSON; a whole number is a long. */
    public static Table table(JSONObject json) {
        List<String> columns = new ArrayList<>();
        json.getJSONArray("columns").forEach(name -> columns.add((String) name));
        List<List<Object>> rows = new ArrayList<>();
        for (Object row : json.getJSONArray("rows")) {
            List<Object> values = new ArrayList<>();
            ((JSONArray) row).forEach(value -> values.add(
                    value == JSONObject.NULL ? null : value instanceof Integer number ? (Object) number.longValue() : value));
            rows.add(values);
        }
        return new Table(columns, rows);
    }

    /**
     * As many tables as there are others, with their columns. Rows of one partition and match number keep their order; those of different
     * ones may be in any, and rows without a number belong to no match.
     */
    static String text(JSONArray tables, JSONArray like) {
        if (tables.length() < like.length()) {
            return tables.length() + " tables: " + tables;
        }
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < like.length(); i++) {
            texts.add(text(tables.getJSONObject(i), like.getJSONObject(i).getJSONArray("columns")));
        }
        return String.join("; ", texts);
    }

    private static String text(JSONObject table, JSONArray columns) {
        List<List<String>> rows = new ArrayList<>();
        int head = columns.toList().indexOf(NUMBER) + 1;
        for (Object each : table.getJSONArray("rows")) {
            Map<String, String> values = new HashMap<>();
            for (int i = 0; i < ((JSONArray) each).length(); i++) {
                String name = table.getJSONArray("columns").getString(i).toLowerCase(Locale.ROOT);
                values.put(name, text(((JSONArray) each).get(i)));
            }
            if (!"null".equals(values.get(NUMBER))) {
                rows.add(columns.toList().stream().map(name -> values.get((String) name)).toList());
            }
        }
        rows.sort(Comparator.comparing(row -> row.subList(0, head).toString()));
        return columns + " " + rows.stream().map(List::toString).collect(Collectors.joining(" "));
    }

    private static String text(Object value) {
        if (value instanceof Number number) {
            return new BigDecimal(number.toString()).stripTrailingZeros().toPlainString();
        }
        return value instanceof String string ? JSONObject.quote(string) : value.toString();
    }
}
