import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import java.util.Map;

/** Esper 9.0.0: the events of a variable under a bounded quantifier over an alternation, on two events of type a. */
public final class BoundedAlternation {
    static void show(String pattern, String expected) throws Exception {
        Configuration configuration = new Configuration();
        configuration.getCommon().addEventType("E", Map.of("type", String.class, "p", Integer.class));
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        String epl = "@name('q') select * from E match_recognize (measures A.selectFrom(e => e.p) as a, "
                + "B.selectFrom(e => e.p) as b all matches after match skip to current row pattern (" + pattern
                + ") define A as A.type = 'a', B as B.type = 'b')";
        var compiled = EPCompilerProvider.getCompiler().compile(epl, new CompilerArguments(configuration));
        var runtime = EPRuntimeProvider.getRuntime(pattern, configuration);
        var deployment = runtime.getDeploymentService().deploy(compiled).getDeploymentId();
        System.out.println(pattern + "\n  expected " + expected);
        runtime.getDeploymentService().getStatement(deployment, "q").addListener((rows, removed, s, r) -> {
            for (EventBean row : rows) System.out.println("  got      a=" + row.get("a") + " b=" + row.get("b"));
        });
        for (int p = 0; p < 2; p++) runtime.getEventService().sendEventMap(Map.of("type", "a", "p", p), "E");
        runtime.destroy();
    }

    public static void main(String[] arguments) throws Exception {
        show("(A | B){2}", "a=[0, 1]");
        show("(A | B) (A | B)", "a=[0, 1]");
        show("(A | B)+", "a=[0], a=[0, 1] and a=[1]");
    }
}
