package cerify.adapters.protocol;

import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * A request to evaluate a query on a stream; a stream's positions are the indices of its events. For MATCH_RECOGNIZE there
 * is the clause as SQL, otherwise null.
 */
public record Run(
        String language,
        String query,
        Schema schema,
        List<Event> events,
        boolean valuations,
        JSONObject sql,
        Stopwatch stopwatch) {

    /** A request without SQL, whose time is not measured. */
    public Run(String language, String query, Schema schema, List<Event> events, boolean valuations) {
        this(language, query, schema, events, valuations, null, new Stopwatch(false));
    }

    /** The request that a message holds; a schema that the message does not bring is inferred from the events. */
    public static Run of(JSONObject message) {
        try {
            JSONArray events = message.getJSONArray("events");
            JSONObject declared = message.optJSONObject("schema");
            Schema schema = declared == null ? Schema.inferred(events) : Schema.declared(declared, events);
            return new Run(
                    message.getString("language"),
                    message.getString("query"),
                    schema,
                    Event.all(events, schema),
                    message.optString("output", "matches").equals("valuations"),
                    message.optJSONObject("sql"),
                    new Stopwatch(message.optString("cmd").equals("measure")));
        } catch (JSONException e) {
            throw new Problem(Problem.Code.INTERNAL, "not a run message of the protocol: " + e.getMessage());
        }
    }
}
