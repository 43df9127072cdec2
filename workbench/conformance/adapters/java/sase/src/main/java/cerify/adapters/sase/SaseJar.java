package cerify.adapters.sase;

import cerify.adapters.protocol.Problem;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;

/**
 * SASE, loaded by reflection from the jar of a checkout: nothing of it is needed to build this program.
 *
 * <p>It is driven as its command line drives it: an NFA made of a query file, a stream, and matches that are printed. The
 * stream's events are ours, so that they can tell which one is being processed. An engine that looks at them without an
 * end is stopped.
 */
final class SaseJar implements Search {

    static final String JAR = "build/sase.jar";
    private static final String PACKAGE = "edu.umass.cs.sase.";
    private static final int MOST_LOOKS = 3_000_000;

    private final ClassLoader loader;

    SaseJar(Path home) throws IOException {
        loader = new URLClassLoader(new URL[] {home.resolve(JAR).toUri().toURL()});
    }

    /** The commit of the checkout, since the repository has no versions. */
    static String version(Path home) throws IOException {
        Process git = new ProcessBuilder("git", "-C", home.toString(), "rev-parse", "--short=7", "HEAD").start();
        String commit = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        return commit.isEmpty() ? "unknown" : commit;
    }

    @Override
    public void run(String query, List<Input> stream, BiConsumer<Integer, Set<Integer>> receiver) {
        PrintStream standard = System.out;
        try {
            Path file = Files.createTempFile("cerify", ".query");
            try {
                Files.writeString(file, query);
                Looking looking = new Looking(stream);
                System.setOut(new Reports(looking, receiver));
                run(file, looking.events());
            } finally {
                System.setOut(standard);
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Problem problem) {
                throw problem;
            }
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new Problem(Problem.Code.INTERNAL, "SASE: " + e.getCause(), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the jar is not that of SASE: " + e, e);
        }
    }

    private void run(Path file, Object events) throws ReflectiveOperationException {
        Object nfa = type("query.NFA").getConstructor(String.class).newInstance(file.toString());
        Object input = type("stream.Stream").getConstructor(int.class).newInstance(Array.getLength(events));
        call(input, "setEvents", events);
        Object engine = type("engine.Engine").getConstructor().newInstance();
        call(engine, "initialize");
        call(engine, "setNfa", nfa);
        call(engine, "setInput", input);
        call(engine, "runEngine");
    }

    private Class<?> type(String name) throws ClassNotFoundException {
        return loader.loadClass(PACKAGE + name);
    }

    private static Object call(Object object, String name, Object... arguments) throws ReflectiveOperationException {
        for (Method method : object.getClass().getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                return method.invoke(object, arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }

    /** The events of a stream, as SASE's interface has them, and which one is being processed. */
    private final class Looking {

        private final List<Input> stream;
        private int position = -1;
        private int looks;

        Looking(List<Input> stream) {
            this.stream = stream;
        }

        /** An array of SASE's events. */
        Object events() throws ClassNotFoundException {
            Class<?> event = type("stream.Event");
            Object events = Array.newInstance(event, stream.size());
            for (int i = 0; i < stream.size(); i++) {
                int at = i;
                Array.set(events, i, Proxy.newProxyInstance(loader, new Class<?>[] {event}, (proxy, method, arguments) ->
                        part(proxy, at, method.getName(), arguments)));
            }
            return events;
        }

        /** What SASE asks of an event; its id is its position. The type is asked of the event being processed alone. */
        private Object part(Object proxy, int at, String name, Object[] arguments) {
            if (++looks > MOST_LOOKS) {
                throw new Problem(Problem.Code.BUDGET, "SASE looked at its events " + MOST_LOOKS + " times, and was stopped");
            }
            Input event = stream.get(at);
            switch (name) {
                case "getEventType":
                    position = at;
                    return event.type();
                case "getId":
                    return at;
                case "getTimestamp":
                    return event.time();
                case "getAttributeByName":
                    if (!event.attributes().containsKey(arguments[0])) {
                        throw new Problem(Problem.Code.INTERNAL, "SASE asks an event for its attribute '" + arguments[0] + "'");
                    }
                    return event.attributes().get(arguments[0]);
                case "equals":
                    return proxy == arguments[0];
                case "hashCode":
                    return at;
                default:
                    throw new UnsupportedOperationException(name);
            }
        }
    }

    /** Standard output while SASE runs: it prints whether a match or a negated one follows, and then the match. */
    private static final class Reports extends PrintStream {

        private final Looking looking;
        private final BiConsumer<Integer, Set<Integer>> receiver;
        private boolean negated;

        Reports(Looking looking, BiConsumer<Integer, Set<Integer>> receiver) {
            super(OutputStream.nullOutputStream());
            this.looking = looking;
            this.receiver = receiver;
        }

        @Override
        public void println(String line) {
            negated = line.contains("negated match");
        }

        @Override
        public void println(Object match) {
            if (negated) {
                return;
            }
            try {
                Object events = call(match, "getEvents");
                Set<Integer> positions = new TreeSet<>();
                for (int i = 0; i < Array.getLength(events); i++) {
                    positions.add(Array.get(events, i).hashCode());
                }
                receiver.accept(looking.position, positions);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("a match has no events: " + e, e);
            }
        }
    }
}
