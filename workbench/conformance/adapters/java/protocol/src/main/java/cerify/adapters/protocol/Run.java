package cerify.adapters.protocol;

import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * A request to evaluate a query on a stream; a stream's positions are the indices of its events.
 *
 * @param tree the query's syntax tree, null where the text does not parse
 * @param sql the clause of MATCH_RECOGNIZE as SQL, null in other languages
 * @param translations the texts that the engine is given for the query, filled by {@link #translated}
 */
public record Run(
        String language,
        String query,
        JSONObject tree,
        Schema schema,
        List<Event> events,
        boolean valuations,
        JSONObject sql,
        Stopwatch stopwatch,
        List<String> translations) {

    /** Notes a text that the engine is given for the query; the answer has it, and reports show it. */
    public void translated(String text) {
        translations.add(text);
    }

    /** The query's syntax tree. Throws a Problem "parse" where there is none. */
    @Override
    public JSONObject tree() {
        if (tree == null) {
            throw new Problem(Problem.Code.PARSE, "the message has no tree of the query, so its text is no query");
        }
        return tree;
    }

    /** The request of a message; without a schema in the message it is inferred from the events. */
    public static Run of(JSONObject message) {
        try {
            JSONArray events = message.getJSONArray("events");
            JSONObject declared = message.optJSONObject("schema");
            Schema schema = declared == null ? Schema.inferred(events) : Schema.declared(declared, events);
            return new Run(
                    message.getString("language"),
                    message.getString("query"),
                    message.optJSONObject("tree"),
                    schema,
                    Event.all(events, schema),
                    message.optString("output", "matches").equals("valuations"),
                    message.optJSONObject("sql"),
                    new Stopwatch(message.optString("cmd").equals("measure")),
                    new ArrayList<>());
        } catch (JSONException e) {
            throw new Problem(Problem.Code.INTERNAL, "not a run message of the protocol: " + e.getMessage());
        }
    }
}
