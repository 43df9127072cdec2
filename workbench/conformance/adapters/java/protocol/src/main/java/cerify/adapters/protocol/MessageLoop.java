package cerify.adapters.protocol;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Supplier;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** The conversation with the harness: one JSON object per line in, one per line out, until stop or end of input. */
public final class MessageLoop {

    private static final int PROTOCOL = 1;

    private final Engine engine;

    /** The conversation about this engine. */
    public MessageLoop(Engine engine) {
        this.engine = engine;
    }

    /**
     * Serves standard input and output, then ends the program, since threads of an engine may be no daemons; the status is 1 if
     * the engine cannot be made. What else prints to standard output, also meanwhile, goes to standard error instead.
     */
    public static void serve(Supplier<Engine> engine) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        int status = 1;
        try {
            new MessageLoop(engine.get()).run(System.in, answers);
            status = 0;
        } catch (RuntimeException e) {
            e.printStackTrace();
        }
        System.exit(status);
    }

    /** Answers every message of the input, until stop. */
    void run(InputStream in, PrintStream out) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.isBlank()) {
                continue;
            }
            Optional<JSONObject> answer = answer(line);
            if (answer.isEmpty()) {
                return;
            }
            out.print(answer.get() + "\n");
            out.flush();
        }
    }

    /** The answer to a line, or nothing to the line that ends the conversation. */
    private Optional<JSONObject> answer(String line) {
        JSONObject message;
        try {
            message = new JSONObject(line);
        } catch (JSONException e) {
            return Optional.of(failed(null, "not a JSON object: " + e.getMessage()));
        }
        String id = message.optString("id", null);
        return switch (message.optString("cmd")) {
            case "start" -> Optional.of(started(message));
            case "run", "measure" -> Optional.of(ran(id, message));
            case "stop" -> Optional.empty();
            default -> Optional.of(failed(id, "unknown cmd; the protocol has start, run, measure and stop"));
        };
    }

    private JSONObject started(JSONObject message) {
        if (message.optInt("protocol") != PROTOCOL) {
            return failed(null, "this adapter speaks protocol " + PROTOCOL + " only");
        }
        return new JSONObject()
                .put("protocol", PROTOCOL)
                .put("engine", new JSONObject().put("name", engine.name()).put("version", engine.version()))
                .put("languages", new JSONArray(engine.languages()))
                .put("features", new JSONArray(engine.features()))
                .put("claims", engine.claims());
    }

    private JSONObject ran(String id, JSONObject message) {
        try {
            Run run = Run.of(message);
            Answer answer = Answer.to(run, engine);
            return message.getString("cmd").equals("measure") && answer instanceof Answer.Matches found
                    ? new JSONObject().put("id", id).put("count", found.matches().size()).put("cpu", run.stopwatch().seconds())
                    : translated(run, answer.message(id));
        } catch (Problem problem) {
            return new Answer.Failed(problem).message(id);
        }
    }

    private static JSONObject translated(Run run, JSONObject message) {
        return run.translations().isEmpty() ? message : message.put("translation", String.join("\n", run.translations()));
    }

    private static JSONObject failed(String id, String reason) {
        return new Answer.Failed(new Problem(Problem.Code.INTERNAL, reason)).message(id);
    }
}
