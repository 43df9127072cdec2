package cerify.adapters.meaning;

import cerify.adapters.cel.CelParser;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Run;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.json.JSONArray;
import org.json.JSONObject;

/** Random queries on random streams of the types A, B and C, answered by an engine and by {@link Meaning}. */
public final class RandomCases {

    private static final int LENGTH = 6;

    private final Random random;

    /** What was compared: the number of answers, and the first query and stream whose answer is not the meaning. */
    public record Comparison(int answered, int skipped, Optional<String> difference) {}

    /** Cases of a seed. */
    public RandomCases(long seed) {
        random = new Random(seed);
    }

    /** The queries on random streams of six events, as far as the engine does not skip them. */
    public Comparison compare(Engine engine, List<String> queries, int streams) {
        int answered = 0;
        int skipped = 0;
        for (String query : queries) {
            for (int n = 0; n < streams; n++) {
                JSONArray events = stream();
                Run run = run(query, events);
                Answer answer = Answer.to(run, engine);
                if (answer instanceof Answer.Skipped) {
                    skipped++;
                } else {
                    answered++;
                    Answer expected = new Answer.Matches(Meaning.of(CelParser.parse(query), run));
                    if (!answer.equals(expected)) {
                        String difference = query + " on " + events + ": expected " + expected.message("") + ", got "
                                + answer.message("");
                        return new Comparison(answered, skipped, Optional.of(difference));
                    }
                }
            }
        }
        return new Comparison(answered, skipped, Optional.empty());
    }

    /** Random queries of up to this many binary operators and iterations. */
    public List<String> queries(int count, int size) {
        return random.ints(count, 0, size + 1).mapToObj(this::query).toList();
    }

    private String query(int size) {
        String phi = formula(size);
        return switch (random.nextInt(7)) {
            case 0 -> "(" + phi + ") FILTER A.x = B.x";
            case 1 -> "(" + phi + ") FILTER A[x > 0] OR B.x < 2";
            case 2 -> "(" + phi + ") WITHIN 2 seconds";
            case 3 -> "PROJECT[A](" + phi + ")";
            case 4 -> "(" + phi + ") PARTITION BY [x]";
            default -> phi;
        };
    }

    private String formula(int size) {
        if (size == 0) {
            return List.of("A", "B", "C", "(A FILTER A.x > 0)", "(B IN X)").get(random.nextInt(5));
        }
        int left = random.nextInt(size);
        String phi = "(" + formula(left) + ")";
        return switch (random.nextInt(7)) {
            case 0 -> phi + " : (" + formula(size - 1 - left) + ")";
            case 1 -> phi + " OR (" + formula(size - 1 - left) + ")";
            case 2 -> phi + "+";
            case 3 -> phi + ":+";
            case 4 -> phi + "{1,2}";
            default -> phi + " ; (" + formula(size - 1 - left) + ")";
        };
    }

    private JSONArray stream() {
        JSONArray events = new JSONArray();
        int time = 0;
        for (int i = 0; i < LENGTH; i++) {
            time += random.nextInt(2);
            String type = "ABC".substring(random.nextInt(3)).substring(0, 1);
            events.put(new JSONObject().put("type", type).put("x", random.nextInt(3)).put("time", time));
        }
        return events;
    }

    private static Run run(String query, JSONArray events) {
        return Run.of(new JSONObject()
                .put("language", "cel")
                .put("query", query)
                .put("events", events)
                .put("output", "valuations"));
    }
}
