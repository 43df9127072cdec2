// A toy engine, and the adapter that puts it under test: sequences of event types, such as A ; B.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class Toy {

    // A text of a message, as JSON writes it. The library in the folder of the adapters reads whole messages.
    static final String TEXT = "\"((?:[^\"\\\\]|\\\\.)*)\"";
    static final Pattern EVENTS = Pattern.compile("\"events\"\\s*:\\s*\\[((?:[^\\]\"]|" + TEXT + ")*)\\]");
    static final Pattern TYPE = Pattern.compile("\"type\"\\s*:\\s*" + TEXT);

    static String field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*" + TEXT).matcher(line);
        return found.find() ? found.group(1) : "";
    }

    static List<String> typesOf(String line) {
        Matcher events = EVENTS.matcher(line);
        return events.find() ? TYPE.matcher(events.group(1)).results().map(type -> type.group(1)).toList() : List.of();
    }

    // All ways to take an A, and later a B. For each step the engine keeps the matches so far that wait there.
    static List<List<Integer>> matches(String[] types, List<String> events) {
        List<List<List<Integer>>> waiting = new ArrayList<>();
        for (int step = 0; step <= types.length; step++) {
            waiting.add(step == 0 ? List.of(List.of()) : List.of());
        }
        List<List<Integer>> found = new ArrayList<>();
        for (int position = 0; position < events.size(); position++) {
            for (int step = types.length - 1; step >= 0; step--) {
                if (!events.get(position).equals(types[step])) {
                    continue;
                }
                List<List<Integer>> longer = new ArrayList<>();
                for (List<Integer> match : waiting.get(step)) {
                    List<Integer> more = new ArrayList<>(match);
                    more.add(position);
                    longer.add(more);
                }
                waiting.set(step + 1, longer);
                if (step + 1 == types.length) {
                    found.addAll(longer);
                }
            }
        }
        return found;
    }

    static String answer(String line) {
        String start = "{\"id\":\"" + field(line, "id") + "\",";
        String query = field(line, "query");
        if (field(line, "cmd").equals("start")) {
            return "{\"protocol\":1,\"engine\":{\"name\":\"toy\",\"version\":\"1\"},\"languages\":[\"cel\"]}";
        }
        if (!field(line, "output").equals("matches") || !query.matches("(?U)\\w+( ; \\w+)*")) {
            return start + "\"skipped\":\"only sequences of event types\"}";
        }
        return start + matches(query.split(" ; "), typesOf(line)).stream()
                .map(match -> "{\"at\":" + match.get(match.size() - 1) + ",\"events\":" + match + "}")
                .collect(Collectors.joining(",", "\"matches\":[", "]}"));
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (field(line, "cmd").equals("stop")) {
                return;
            }
            answers.println(answer(line));
        }
    }
}
