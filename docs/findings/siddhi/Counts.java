import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.query.output.callback.QueryCallback;
import java.util.Arrays;

/** Siddhi 5.1.30: counts at the ends of a pattern, over a stream of letters, each with its position p. */
public final class Counts {
    static void show(String query, String expected, String types) throws Exception {
        var manager = new SiddhiManager();
        var runtime = manager.createSiddhiAppRuntime("@app:playback define stream S (type string, p int); "
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
            runtime.getInputHandler("S").send(1000L * (i + 1), new Object[] {types.substring(i, i + 1), i});
        }
        runtime.shutdown();
        manager.shutdown();
    }

    public static void main(String[] arguments) throws Exception {
        String two = " select e1[0].p as p0, e1[1].p as p1, e2.p as p2";
        String last = " select e1.p as p0, e2[0].p as p1, e2[1].p as p2";
        show("every e1=S[type == 'A'], e2=S[type == 'B']<2:2>" + last, "[0, 1, 2]", "ABBC");
        show("every e1=S[type == 'A'], e2=S[type == 'B']+" + last, "[0, 1, null] or [0, 1, 2]", "ABBC");
        show("every e1=S[type == 'A'] -> e2=S[type == 'B']<2:2>" + last, "the same (a pattern): as it should be", "ABBC");
        show("every e1=S[type == 'A']<0:1> -> e2=S[type == 'B']" + two, "[0, null, 1] and [2, null, 3]", "ABAB");
        show("every e1=S[type == 'A']?, e2=S[type == 'B']" + two, "the same (a sequence): as it should be", "ABAB");
    }
}
