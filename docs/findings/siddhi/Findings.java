import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.query.output.callback.QueryCallback;
import java.util.Arrays;

/** Siddhi 5.1.30: prints what a query selects over a stream of letters, each with its position p and a value x or null. */
public final class Findings {
    static void show(String query, String expected, String types, Integer... values) throws Exception {
        var manager = new SiddhiManager();
        var runtime = manager.createSiddhiAppRuntime("@app:playback define stream S (type string, p int, x int); "
                + "@info(name = 'q') from " + query + " insert into Out;");
        System.out.println(query + " on " + types + "\n  expected " + expected);
        runtime.addCallback("q", new QueryCallback() {
            @Override
            public void receive(long timestamp, Event[] found, Event[] removed) {
                for (Event match : found) System.out.println("  got      " + Arrays.toString(match.getData()));
            }
        });
        runtime.start();
        for (int i = 0; i < types.length(); i++) {
            Integer value = i < values.length ? values[i] : null;
            runtime.getInputHandler("S").send(1000L * (i + 1), new Object[] {types.substring(i, i + 1), i, value});
        }
        runtime.shutdown();
        manager.shutdown();
    }

    public static void main(String[] arguments) throws Exception {
        String two = " select e1[0].p as p0, e1[1].p as p1, e2.p as p2";
        show("every e1=S[type == 'A']+, e2=S[type == 'B']" + two, "[0, 1, 2] and [1, null, 2]", "AAB");
        show("every e1=S[type == 'A']<1:> -> e2=S[type == 'B']" + two, "the same (a pattern): as it should be", "AAB");
        show("every e1=S[type == 'A']<2:2>, e2=S[type == 'B']" + two, "[1, 2, 3]", "AAAB");
        show("every e1=S[type == 'A']<1:>, e2=S[type == 'A']" + two, "[0, null, 1] and [1, null, 2]", "AAA");
        show("S[x != 1] select p", "[1]: a comparison with null is false", "ABC", null, 2, 1);
        show("S[not (x == 1)] select p", "[0] and [1]", "ABC", null, 2, 1);
        show("every e1=S[type == 'A'] -> e2=S[type == 'B'] within 1 sec select e1.p as p1, e2.p as p2", "(a choice: closed)", "AB");
    }
}
