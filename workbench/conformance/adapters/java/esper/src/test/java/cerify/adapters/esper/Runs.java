package cerify.adapters.esper;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Run;
import java.util.SortedSet;
import java.util.StringJoiner;
import org.json.JSONArray;
import org.json.JSONObject;

/** Runs of the engine, for tests: queries over streams written as words, answers written as text. */
final class Runs {

    private Runs() {}

    /** The run of the query over events of the types that the stream lists. */
    static Run ofTypes(String query, String stream) {
        JSONArray events = new JSONArray();
        for (String type : stream.isBlank() ? new String[0] : stream.strip().split(" ")) {
            events.put(new JSONObject().put("type", type));
        }
        return of(query, events);
    }

    /** The run of the query over these events. */
    static Run of(String query, JSONArray events) {
        return Run.of(new JSONObject().put("language", "cel").put("query", query).put("events", events));
    }

    /** The matches as text, such as {@code 2:[0, 2] 2:[1, 2]}. */
    static String answer(Run run) {
        SortedSet<Match> matches = ((Answer.Matches) Answer.to(run, new EsperEngine())).matches();
        StringJoiner text = new StringJoiner(" ");
        matches.forEach(match -> text.add(match.at() + ":" + match.events()));
        return text.toString();
    }
}
