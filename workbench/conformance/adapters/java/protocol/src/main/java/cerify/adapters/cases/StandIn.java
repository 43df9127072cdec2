package cerify.adapters.cases;

import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Skip;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * A test in the place of an engine: while a run is answered, each translation is a line on standard output, and the line
 * that comes back has what the engine is to have found. So a test sees whether translation and answer are right, whatever
 * the engine does.
 */
public final class StandIn {

    private final PrintStream translations = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final BufferedReader replies =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private StandIn() {}

    /** Serves the protocol on standard input and output with the engine that asks this stand-in. */
    public static void serve(Function<StandIn, Engine> engine) throws IOException {
        StandIn test = new StandIn();
        MessageLoop.serve(() -> engine.apply(test));
    }

    /** What is found for a translation: the member {@code found} of the reply. Throws a Skip if it is {@code refused}. */
    public List<JSONObject> found(JSONObject translation) {
        translations.print(new JSONObject().put("translation", translation) + "\n");
        translations.flush();
        try {
            JSONObject reply = new JSONObject(replies.readLine());
            if (reply.has("refused")) {
                throw new Skip(reply.getString("refused"), "");
            }
            List<JSONObject> found = new ArrayList<>();
            reply.getJSONArray("found").forEach(one -> found.add((JSONObject) one));
            return found;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The whole numbers of an array. */
    public static List<Integer> integers(JSONArray array) {
        List<Integer> numbers = new ArrayList<>();
        array.forEach(number -> numbers.add(((Number) number).intValue()));
        return numbers;
    }
}
