package cerify.adapters.protocol;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** The result of a SQL statement: the names of its columns, and its rows in order. */
public record Table(List<String> columns, List<List<Object>> rows) {

    private static final DateTimeFormatter SECONDS = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss'Z'");
    private static final DateTimeFormatter MICROSECONDS = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'");

    /** The table as the protocol has it; a value that JSON does not have is its text. */
    JSONObject json() {
        JSONArray written = new JSONArray();
        for (List<Object> row : rows) {
            List<Object> values = new ArrayList<>(row);
            values.replaceAll(Table::json);
            written.put(new JSONArray(values));
        }
        return new JSONObject().put("columns", new JSONArray(columns)).put("rows", written);
    }

    private static Object json(Object value) {
        if (value == null) {
            return JSONObject.NULL;
        }
        if (value instanceof LocalDateTime time) {
            return (time.getNano() == 0 ? SECONDS : MICROSECONDS).format(time);
        }
        boolean finite = value instanceof Number number && Double.isFinite(number.doubleValue());
        return finite || value instanceof Boolean ? value : value.toString();
    }
}
