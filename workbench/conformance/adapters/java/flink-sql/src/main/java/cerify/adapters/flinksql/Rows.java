package cerify.adapters.flinksql;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
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

    /** Registers the table by the name that the statements have. */
    static void register(JSONObject sql, StreamExecutionEnvironment environment, StreamTableEnvironment tables) {
        JSONArray columns = sql.getJSONArray("columns");
        List<String> names = new ArrayList<>(List.of(TIME));
        List<TypeInformation<?>> types = new ArrayList<>(List.of(Types.INSTANT));
        Schema.Builder schema = Schema.newBuilder().column(TIME, "TIMESTAMP_LTZ(3)");
        for (Object each : columns) {
            JSONObject column = (JSONObject) each;
            names.add(column.getString("name"));
            types.add(TYPES.get(column.getString("type")));
            schema.column(column.getString("name"), column.getString("type"));
        }
        List<Row> rows = new ArrayList<>();
        for (Object each : sql.getJSONArray("rows")) {
            Row row = new Row(names.size());
            row.setField(0, Instant.ofEpochSecond(rows.size()));
            for (int i = 1; i < names.size(); i++) {
                row.setField(i, value(((JSONArray) each).get(i - 1), types.get(i)));
            }
            rows.add(row);
        }
        TypeInformation<Row> type = Types.ROW_NAMED(names.toArray(String[]::new), types.toArray(TypeInformation[]::new));
        DataStream<Row> stream = environment.fromCollection(rows, type);
        tables.createTemporaryView(
                sql.getString("table"), stream, schema.watermark(TIME, TIME).build());
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
