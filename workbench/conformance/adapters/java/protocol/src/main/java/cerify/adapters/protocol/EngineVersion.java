package cerify.adapters.protocol;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** The version of an engine, from a resource that the build fills in. */
public final class EngineVersion {

    private EngineVersion() {}

    /** The property engine.version of the resource, which is found as the class finds its own resources. */
    public static String of(Class<?> adapter, String resource) {
        try (InputStream in = adapter.getResourceAsStream(resource)) {
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("engine.version");
        } catch (IOException e) {
            throw new IllegalStateException("the jar is damaged: it has no " + resource, e);
        }
    }
}
