package cerify.adapters.flinksql;

import cerify.adapters.cases.StandIn;
import cerify.adapters.cases.Tables;
import cerify.adapters.protocol.Table;
import java.io.IOException;
import java.util.List;
import org.apache.flink.types.Row;
import org.json.JSONObject;

/** The adapter with a test in the place of Flink, which gets the statements. */
final class FlinkSqlStandIn {

    private FlinkSqlStandIn() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        StandIn.serve(test -> new FlinkSqlEngine((sql, statement) ->
                rows(Tables.table(test.found(new JSONObject().put("statement", statement)).get(0)))));
    }

    private static List<Row> rows(Table table) {
        return table.rows().stream().map(values -> row(table.columns(), values)).toList();
    }

    private static Row row(List<String> columns, List<Object> values) {
        Row row = Row.withNames();
        for (int i = 0; i < columns.size(); i++) {
            row.setField(columns.get(i), values.get(i));
        }
        return row;
    }
}
