package cerify.adapters.flinksql;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.table.api.Schema;
import org.apache.flink.types.Row;
import org.json.JSONArray;
import org.json.JSONObject;

/** The table of a run, with a row time: a second for each row, in their order. */
final class Rows {

    static final String TIME = "cerify_time";

    private static final Map<String, TypeInformation<?>> TYPES = Map.of(
            "BIGINT", Types.LONG,
            "DOUBLE PRECISION", Types.DOUBLE,
            "VARCHAR(200)", Types.STRING,
            "BOOLEAN", Types.BOOLEAN,
            "TIMESTAMP(6)", Types.LOCAL_DATE_TIME);

    private Rows() {}

    /** The rows of the table. */
    static List<Row> of(JSONObject sql) {
        TypeInformation<?>[] types = type(sql).getFieldTypes();
        List<Row> rows = new ArrayList<>();
        for (Object each : sql.getJSONArray("rows")) {
            Row row = new Row(types.length);
            row.setField(0, Instant.ofEpochSecond(rows.size()));
            for (int i = 1; i < types.length; i++) {
                row.setField(i, value(((JSONArray) each).get(i - 1), types[i]));
            }
            rows.add(row);
        }
        return rows;
    }

    /** The columns of the table as Flink's types. */
    static RowTypeInfo type(JSONObject sql) {
        List<String> names = new ArrayList<>(List.of(TIME));
        List<TypeInformation<?>> types = new ArrayList<>(List.of(Types.INSTANT));
        for (JSONObject column : columns(sql)) {
            names.add(column.getString("name"));
            types.add(TYPES.get(column.getString("type")));
        }
        return new RowTypeInfo(types.toArray(TypeInformation[]::new), names.toArray(String[]::new));
    }

    /** The columns of the table in SQL, with a watermark. */
    static Schema schema(JSONObject sql) {
        Schema.Builder schema = Schema.newBuilder().column(TIME, "TIMESTAMP_LTZ(3)");
        columns(sql).forEach(column -> schema.column(column.getString("name"), column.getString("type")));
        return schema.watermark(TIME, TIME).build();
    }

    private static List<JSONObject> columns(JSONObject sql) {
        return StreamSupport.stream(sql.getJSONArray("columns").spliterator(), false)
                .map(JSONObject.class::cast)
                .toList();
    }

    private static Object value(Object json, TypeInformation<?> type) {
        if (json == JSONObject.NULL) {
            return null;
        }
        if (type.equals(Types.LONG)) {
            return ((Number) json).longValue();
        }
        if (type.equals(Types.DOUBLE)) {
            return ((Number) json).doubleValue();
        }
        return type.equals(Types.LOCAL_DATE_TIME) ? OffsetDateTime.parse((String) json).toLocalDateTime() : json;
    }
}
