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
 * A case to test an adapter with: a run message, and the matches by the definition, for an engine that takes SQL the tables
 * that show them, or {@code "skipped": true}, or the code of an error.
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

    /**
     * The expected answer as text: "skipped", "error" and its code, or the matches, such as {@code 2:[0, 2] 2:[1, 2]}, or
     * the tables.
     */
    public String expected() {
        if (message.optBoolean("skipped")) {
            return "skipped";
        }
        if (message.has("error")) {
            return "error " + message.getString("error");
        }
        if (message.has("tables")) {
            return Tables.text(message.getJSONArray("tables"), message.getJSONArray("tables"));
        }
        List<String> matches = new ArrayList<>();
        for (Object each : message.getJSONArray("matches")) {
            JSONObject match = (JSONObject) each;
            JSONArray events = match.getJSONArray("events");
            matches.add(text(match.getInt("at"), events.toList(), map(match, "bindings"), map(match, "result")));
        }
        return joined(matches);
    }

    /** The answer of an engine as text, in the form of the expected one. */
    public String answer(Engine engine) {
        Answer answer = Answer.to(run(), engine);
        if (answer instanceof Answer.Matches found) {
            List<String> matches = new ArrayList<>();
            for (Match match : found.matches()) {
                matches.add(text(match.at(), match.events(), match.bindings(), match.result()));
            }
            return joined(matches);
        }
        JSONObject shown = answer.message("");
        if (answer instanceof Answer.Tables) {
            JSONArray like = message.optJSONArray("tables", new JSONArray());
            return Tables.text(shown.getJSONArray("tables"), like);
        }
        JSONObject error = shown.optJSONObject("error");
        if (error == null || error.getString("code").equals("unsupported")) {
            return "skipped";
        }
        return "error " + error.getString("code") + (message.has("error") ? "" : ": " + error.getString("message"));
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
