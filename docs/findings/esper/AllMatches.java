import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import java.util.Map;

/** Esper 9.0.0: which matches are reported, with and without ALL MATCHES, by where the next match may begin. */
public final class AllMatches {
    static void show(String matches, String skip, String pattern, String types) throws Exception {
        Configuration configuration = new Configuration();
        configuration.getCommon().addEventType("E", Map.of("type", String.class, "p", Integer.class));
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        String epl = "@name('q') select * from E match_recognize (measures A.selectFrom(e => e.p) as a, "
                + "B.p as b " + matches + " after match skip " + skip + " pattern (" + pattern
                + ") define A as A.type = 'a', B as B.type = 'b')";
        var compiled = EPCompilerProvider.getCompiler().compile(epl, new CompilerArguments(configuration));
        var runtime = EPRuntimeProvider.getRuntime(matches + skip + pattern + types, configuration);
        var deployment = runtime.getDeploymentService().deploy(compiled).getDeploymentId();
        System.out.println(matches + " skip " + skip + " " + pattern + " on " + types);
        runtime.getDeploymentService().getStatement(deployment, "q").addListener((rows, removed, s, r) -> {
            for (EventBean row : rows) System.out.println("  got      a=" + row.get("a") + " b=" + row.get("b"));
        });
        for (int p = 0; p < types.length(); p++) {
            runtime.getEventService().sendEventMap(Map.of("type", types.substring(p, p + 1), "p", p), "E");
        }
        runtime.destroy();
    }

    public static void main(String[] arguments) throws Exception {
        for (String skip : new String[] {"past last row", "to next row"})
            for (String matches : new String[] {"", "all matches"}) show(matches, skip, "A+ B", "aab");
    }
}
