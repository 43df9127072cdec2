package cerify.adapters.esper;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;

/**
 * Texts of EPL, run by Esper as they stand.
 *
 * <p>The first line of the input is a statement over {@code Stream}, each other line the types of a stream of events, a
 * letter for each. For each stream, a line with the positions of the events of each row, as {@code 0,2 1,2}.
 */
final class EsperTexts {

    private EsperTexts() {}

    /** Answers until the end of input; takes no arguments. */
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.getCommon().addEventType("Stream", Map.of("type", String.class, "position", Integer.class));
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        EPCompiled compiled = EPCompilerProvider.getCompiler()
                .compile("@name('text') " + lines.readLine(), new CompilerArguments(configuration));
        EPRuntime runtime = EPRuntimeProvider.getRuntime("texts", configuration);
        for (String types = lines.readLine(); types != null; types = lines.readLine()) {
            System.out.println(rows(runtime, compiled, types));
        }
        runtime.destroy();
    }

    private static String rows(EPRuntime runtime, EPCompiled compiled, String types) throws Exception {
        String deployment = runtime.getDeploymentService().deploy(compiled).getDeploymentId();
        StringJoiner rows = new StringJoiner(" ");
        runtime.getDeploymentService().getStatement(deployment, "text").addListener((added, removed, text, where) -> {
            for (EventBean row : added) {
                Set<Integer> positions = new TreeSet<>();
                for (String name : row.getEventType().getPropertyNames()) {
                    addPositions(row.get(name), positions);
                }
                rows.add(positions.toString().replaceAll("[\\[\\] ]", ""));
            }
        });
        for (int n = 0; n < types.length(); n++) {
            Map<String, Object> event = Map.of("type", types.substring(n, n + 1), "position", n);
            runtime.getEventService().sendEventMap(event, "Stream");
        }
        runtime.getDeploymentService().undeploy(deployment);
        return rows.toString();
    }

    private static void addPositions(Object value, Set<Integer> positions) {
        if (value instanceof EventBean event) {
            positions.add((Integer) event.get("position"));
        } else if (value instanceof Object[] several) {
            for (Object each : several) {
                addPositions(each, positions);
            }
        } else if (value instanceof Map<?, ?> event) {
            positions.add((Integer) event.get("position"));
        } else if (value != null) {
            throw new IllegalStateException("a column of " + value.getClass());
        }
    }
}
