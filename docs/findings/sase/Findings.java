import edu.umass.cs.sase.engine.Engine;
import edu.umass.cs.sase.query.NFA;
import edu.umass.cs.sase.stream.ABCEvent;
import java.io.*;
import java.nio.file.*;
import java.util.regex.*;

/** Prints what SASE reports for each line of a file, query | stream | expected; an event is type, type:price or type:price:time. */
public class Findings {
    static String reported(String query, String[] stream) throws Exception {
        var events = new ABCEvent[stream.length];
        for (int i = 0; i < events.length; i++) {
            String[] parts = (stream[i] + (stream[i].contains(":") ? "" : ":0")).split(":");
            events[i] = new ABCEvent(i, parts.length > 2 ? Integer.parseInt(parts[2]) : i, parts[0], Integer.parseInt(parts[1]));
        }
        var engine = new Engine();
        engine.initialize();
        engine.setNfa(new NFA(Files.writeString(Files.createTempFile("", ".query"), query.replace("; ", "\n")).toString()));
        engine.setInput(new edu.umass.cs.sase.stream.Stream(0));
        engine.getInput().setEvents(events);
        String[] end = {"no end; "};
        var run = new Thread(() -> { try { engine.runEngine(); end[0] = ""; } catch (Exception e) { end[0] = e + "; "; } });
        run.setDaemon(true);
        PrintStream standard = System.out;
        var printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true));
        run.start();
        run.join(5_000);
        System.setOut(standard);
        var matches = Pattern.compile("-{10}Here(?s:.*?)(?=-{10}Here|~{16}Here|$)").matcher(printed.toString()).results().map(match ->
                Pattern.compile("ID=(\\d+)").matcher(match.group()).results().map(id -> id.group(1)).toList().toString());
        return end[0] + String.join(" ", matches.toList());
    }
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split(" \\| ");
            System.out.println(line.replace(" | ", "\n    ") + "\n    SASE: " + reported(parts[0], parts[1].split(" ")));
        }
    }
}
