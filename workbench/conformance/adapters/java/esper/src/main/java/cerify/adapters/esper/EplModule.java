package cerify.adapters.esper;

import cerify.adapters.outline.Definition;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompileException;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPDeployException;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import com.espertech.esper.runtime.client.UpdateListener;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * An EPL module, compiled and run over a stream in a runtime of its own, so that nothing of a run is left for the next.
 *
 * <p>Settings: the internal timer is off, for no clock has a part in the meaning, and division by zero has no value.
 * Consumption, limits on subexpressions and limits on states are off, as they are by default.
 */
final class EplModule {

    /** The name of the statement whose rows are matches. */
    static final String MATCHES = "matches";

    /** The module compiled last, and what it was compiled from: several runs in a row may have one query. */
    private static String compiledFrom = "";

    private static EPCompiled compiledLast;

    private final String epl;
    private final String source;
    private final Configuration configuration = new Configuration();

    EplModule(String epl, EventType type) {
        this.epl = epl;
        this.source = type.properties() + " " + epl;
        configuration.getCommon().addEventType(EventType.NAME, type.properties());
        configuration.getCompiler().getExpression().setDivisionByZeroReturnsNull(true);
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
    }

    /** The statement under the name of the matches. */
    static String named(String statement) {
        return "@name('" + MATCHES + "') " + statement;
    }

    /** The expression for the position of a definition's event or, if it is iterated, the positions of its events. */
    static String positions(Definition definition) {
        return definition.isIterated()
                ? definition.name() + ".selectFrom(e => e." + EventType.POSITION + ")"
                : definition.name() + "." + EventType.POSITION;
    }

    /** Sends the events one after another; receives each row with the position of the event that brought it forth. */
    void run(Run run, BiConsumer<Integer, Function<String, Object>> receiver) {
        EPCompiled compiled = compiled();
        EPRuntime runtime = EPRuntimeProvider.getRuntime(UUID.randomUUID().toString(), configuration);
        try {
            EPStatement matches = matches(runtime, compiled);
            run.stopwatch().<EventBean>time(
                    rows -> {
                        int[] position = {0};
                        matches.addListener(listener(position, rows));
                        for (Event event : run.events()) {
                            runtime.getEventService().sendEventMap(EventType.row(event, position[0]), EventType.NAME);
                            position[0]++;
                        }
                    },
                    (at, row) -> receiver.accept(at, row::get));
        } finally {
            runtime.destroy();
        }
    }

    private EPCompiled compiled() {
        if (source.equals(compiledFrom)) {
            return compiledLast;
        }
        try {
            compiledLast = EPCompilerProvider.getCompiler().compile(epl, new CompilerArguments(configuration));
            compiledFrom = source;
            return compiledLast;
        } catch (EPCompileException e) {
            throw new Problem(Problem.Code.INTERNAL, "Esper does not compile the translation: " + e.getMessage(), e);
        }
    }

    private static EPStatement matches(EPRuntime runtime, EPCompiled compiled) {
        try {
            String deployment = runtime.getDeploymentService().deploy(compiled).getDeploymentId();
            return runtime.getDeploymentService().getStatement(deployment, MATCHES);
        } catch (EPDeployException e) {
            throw new Problem(Problem.Code.INTERNAL, "Esper does not deploy the translation: " + e.getMessage(), e);
        }
    }

    private static UpdateListener listener(int[] position, BiConsumer<Integer, EventBean> receiver) {
        return (rows, removed, statement, runtime) -> {
            if (rows != null) {
                for (EventBean row : rows) {
                    receiver.accept(position[0], row);
                }
            }
        };
    }
}
