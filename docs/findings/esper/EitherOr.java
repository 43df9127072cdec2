import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import java.util.Map;

/** What Esper reports where one event makes both sides of an or true. */
public class EitherOr {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.getCommon().addEventType("E", Map.of("type", String.class, "at", Integer.class));
        String epl = "@name('s') select x.at as x, y.at as y from pattern [every (x=E(type='a') or y=E(type='a'))]";
        var compiled = EPCompilerProvider.getCompiler().compile(epl, new CompilerArguments(configuration));
        var runtime = EPRuntimeProvider.getRuntime("either", configuration);
        var deployment = runtime.getDeploymentService().deploy(compiled).getDeploymentId();
        System.out.println(epl + "\n  on a: CEL x 0, and y 0; Esper:");
        runtime.getDeploymentService().getStatement(deployment, "s").addListener((rows, removed, statement, run) -> {
            for (var row : rows) {
                System.out.println("  x " + row.get("x") + ", y " + row.get("y"));
            }
        });
        runtime.getEventService().sendEventMap(Map.of("type", "a", "at", 0), "E");
        runtime.destroy();
    }
}
