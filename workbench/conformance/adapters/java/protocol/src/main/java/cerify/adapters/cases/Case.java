package cerify.adapters.cases;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Run;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * A case to test an adapter with: a run message, and the matches by the definition or {@code "skipped": true}.
 *
 * <p>{@code python -m proofs_tests.tools.adapter_cases} adds to each line of a file of cases the tree of its query and its
 * matches.
 */
public record Case(JSONObject message) {

    /** The cases of the resource cases.jsonl. */
    public static List<Case> all() throws IOException {
        return of("cases.jsonl");
    }

    /** The cases of a resource at the root of the class path, one in each line. */
    public static List<Case> of(String resource) throws IOException {
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(Case.class.getResourceAsStream("/" + resource), StandardCharsets.UTF_8))) {
            return lines.lines().map(line -> new Case(new JSONObject(line))).toList();
        }
    }

    /** The run of the case. */
    public Run run() {
        return Run.of(message);
    }

    /** The expected answer as text: "skipped", or the matches, such as {@code 2:[0, 2] 2:[1, 2]}. */
    public String expected() {
        if (message.optBoolean("skipped")) {
            return "skipped";
        }
        List<String> matches = new ArrayList<>();
        for (Object each : message.getJSONArray("matches")) {
            JSONObject match = (JSONObject) each;
            JSONArray events = match.getJSONArray("events");
            matches.add(text(match.getInt("at"), events.toList(), map(match, "bindings"), map(match, "result")));
        }
        return joined(matches);
    }

    /** The answer of an engine as text; an error is its message. */
    public String answer(Engine engine) {
        Answer answer = Answer.to(run(), engine);
        if (answer instanceof Answer.Matches found) {
            List<String> matches = new ArrayList<>();
            for (Match match : found.matches()) {
                matches.add(text(match.at(), match.events(), match.bindings(), match.result()));
            }
            return joined(matches);
        }
        JSONObject error = answer.message("").optJSONObject("error");
        return error == null || error.getString("code").equals("unsupported") ? "skipped" : error.toString();
    }

    private String text(int at, Object events, Map<String, ?> bindings, Map<String, ?> result) {
        return at + ":" + events + (run().valuations() ? shown(bindings) + (result == null ? "" : new TreeMap<>(result)) : "");
    }

    private static Map<String, Object> map(JSONObject match, String part) {
        return match.has(part) ? match.getJSONObject(part).toMap() : null;
    }

    private static String shown(Map<String, ?> bindings) {
        return bindings == null || bindings.isEmpty() ? "" : new TreeMap<>(bindings).toString();
    }

    private static String joined(List<String> matches) {
        return String.join(" ", new TreeSet<>(matches));
    }

    @Override
    public String toString() {
        return message.getString("query") + " on " + message.getJSONArray("events");
    }
}
