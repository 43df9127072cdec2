package cerify.adapters.protocol;

import java.util.List;
import org.json.JSONObject;

/** An engine under test, as the harness sees it. */
public interface Engine {

    /** The engine's name in reports. */
    String name();

    /** The version of the engine itself, not of its adapter. */
    String version();

    /** The query languages that runs may be written in, such as {@code cel}. */
    List<String> languages();

    /** The optional features the engine claims. */
    List<String> features();

    /** What the engine claims of each language, as docs/reference/protocol.md has it; by default all there is. */
    default JSONObject claims() {
        return new JSONObject();
    }

    /**
     * The answer to one run, independent of every run before it.
     *
     * @throws Skip if the engine does not claim what the query asks for
     * @throws Problem if there is something wrong with the query, or the run fails
     */
    Answer answer(Run run);
}
