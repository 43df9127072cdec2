package cerify.adapters.siddhi;

import cerify.adapters.cases.StandIn;
import java.io.IOException;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** The adapter with a test in the place of Siddhi, which gets the app, and the rows with their times. */
final class SiddhiStandIn {

    private SiddhiStandIn() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        StandIn.serve(test -> new SiddhiEngine((app, timestamps, rows, stopwatch, receiver) -> {
            for (JSONObject match : test.found(message(app, timestamps, rows))) {
                JSONArray selected = match.getJSONArray("row");
                Object[] values = new Object[selected.length()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = selected.isNull(i) ? null : (Object) selected.getInt(i);
                }
                receiver.accept(match.getInt("at"), values);
            }
        }));
    }

    private static JSONObject message(String app, long[] timestamps, List<Object[]> rows) {
        JSONArray sent = new JSONArray();
        rows.forEach(row -> sent.put(new JSONArray(row)));
        return new JSONObject().put("app", app).put("times", new JSONArray(timestamps)).put("rows", sent);
    }
}
