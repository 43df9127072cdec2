package cerify.adapters.trino;

import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * The table of a run as a literal for each column, an array in JSON. As VALUES it has a literal for each value, which the
 * planner analyses and evaluates many times: that took more than half of the time of a run.
 */
final class Literals {

    private Literals() {}

    /** The table as a named subquery. */
    static String with(JSONObject sql) {
        List<String> names = new ArrayList<>();
        List<String> arrays = new ArrayList<>();
        for (Object each : sql.getJSONArray("columns")) {
            JSONObject column = (JSONObject) each;
            arrays.add(array(sql.getJSONArray("rows"), names.size(), column.getString("type")));
            names.add(column.getString("name"));
        }
        return "WITH %s AS (SELECT * FROM UNNEST(%s) AS cerify_values (%s))"
                .formatted(sql.getString("table"), String.join(", ", arrays), String.join(", ", names));
    }

    private static String array(JSONArray rows, int column, String type) {
        boolean timestamp = type.startsWith("TIMESTAMP");
        JSONArray values = new JSONArray();
        for (Object row : rows) {
            Object value = ((JSONArray) row).get(column);
            values.put(timestamp && value instanceof String text ? text.replace('T', ' ').replace("Z", "") : value);
        }
        String literal = "JSON_PARSE('" + values.toString().replace("'", "''") + "')";
        String cast = "CAST(%s AS ARRAY(%s))";
        return timestamp ? cast.formatted(cast.formatted(literal, "VARCHAR"), type) : cast.formatted(literal, type);
    }
}
