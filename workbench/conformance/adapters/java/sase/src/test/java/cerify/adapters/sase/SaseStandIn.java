package cerify.adapters.sase;

import cerify.adapters.cases.StandIn;
import java.io.IOException;
import java.util.List;
import java.util.TreeSet;
import org.json.JSONArray;
import org.json.JSONObject;

/** The adapter with a test in the place of SASE, which gets the query file and the events. */
final class SaseStandIn {

    private SaseStandIn() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        StandIn.serve(test -> new SaseEngine(
                (query, stream, receiver) -> test.found(translation(query, stream))
                        .forEach(match -> receiver.accept(
                                match.getInt("at"), new TreeSet<>(StandIn.integers(match.getJSONArray("events"))))),
                "stand-in"));
    }

    private static JSONObject translation(String query, List<Search.Input> stream) {
        JSONArray events = new JSONArray();
        for (Search.Input input : stream) {
            events.put(new JSONObject()
                    .put("type", input.type())
                    .put("time", input.time())
                    .put("attributes", new JSONObject(input.attributes())));
        }
        return new JSONObject().put("query", query).put("events", events);
    }
}
