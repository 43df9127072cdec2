package cerify.adapters.protocol;

import java.util.List;
import org.json.JSONObject;

/** An engine under test, as the harness sees it. */
public abstract class Engine {

    private final String name;
    private final String version;
    private final List<String> languages;
    private final List<String> features;

    /**
     * An engine with its name in reports, the version of the engine itself, not of its adapter, the query languages that
     * runs may be written in, such as {@code cel}, and the optional features that it claims.
     */
    protected Engine(String name, String version, List<String> languages, List<String> features) {
        this.name = name;
        this.version = version;
        this.languages = languages;
        this.features = features;
    }

    /** An engine with the version {@code engine.version} of its pom, which the manifest of the jar has. */
    protected Engine(String name, List<String> languages, List<String> features) {
        this(name, null, languages, features);
    }

    /** The engine's name in reports. */
    public final String name() {
        return name;
    }

    /** The version of the engine; null if the manifest should have it and the class is not from a jar. */
    public final String version() {
        return version == null ? getClass().getPackage().getImplementationVersion() : version;
    }

    /** The query languages that runs may be written in. */
    public final List<String> languages() {
        return languages;
    }

    /** The optional features the engine claims. */
    public final List<String> features() {
        return features;
    }

    /** What the engine claims of each language, as docs/reference/protocol.md has it; by default all there is. */
    public JSONObject claims() {
        return new JSONObject();
    }

    /**
     * The answer to one run, independent of every run before it.
     *
     * @throws Skip if the engine does not claim what the query asks for
     * @throws Problem if there is something wrong with the query, or the run fails
     */
    public abstract Answer answer(Run run);
}
