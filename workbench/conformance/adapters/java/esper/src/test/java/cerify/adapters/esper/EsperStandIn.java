package cerify.adapters.esper;

import cerify.adapters.cases.StandIn;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import org.json.JSONArray;
import org.json.JSONObject;

/** The adapter with a test in the place of Esper, which gets the EPL and the events. */
final class EsperStandIn {

    private EsperStandIn() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        StandIn.serve(test -> new EsperEngine((translation, run, receiver) -> {
            for (JSONObject match : test.found(message(translation, run))) {
                JSONObject row = match.getJSONObject("row");
                receiver.accept(match.getInt("at"), name -> row.has(name) ? StandIn.integers(row.getJSONArray(name)) : null);
            }
        }));
    }

    private static JSONObject message(CelToEpl translation, Run run) {
        JSONArray events = new JSONArray();
        for (Event event : run.events()) {
            events.put(new JSONObject(EventType.row(event, events.length())));
        }
        return new JSONObject().put("epl", translation.epl()).put("events", events);
    }
}
