package cerify.adapters.drools;

import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Gathering;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.drools.model.codegen.ExecutableModelProject;
import org.json.JSONArray;
import org.json.JSONObject;
import org.kie.api.KieBase;
import org.kie.api.KieServices;
import org.kie.api.conf.EventProcessingOption;
import org.kie.api.definition.type.FactType;
import org.kie.api.io.ResourceType;
import org.kie.api.runtime.KieSession;
import org.kie.api.runtime.KieSessionConfiguration;
import org.kie.api.runtime.conf.ClockTypeOption;
import org.kie.api.time.SessionPseudoClock;
import org.kie.internal.utils.KieHelper;

/**
 * Drools under test: chains of CEL as rules over events, in stream mode. Each firing is a match, reported at the event
 * after which the rules fired.
 */
final class DroolsEngine extends Engine {

    private static final List<String> OPERATORS = List.of(
            "seq", "cseq", "strict", "or", "in", "project", "filter", "within", "partition", "unless");
    private static final String FIRST = """
            {"cmd": "run", "language": "cel", "query": "A", "tree": {"node": "Event", "type": "A"},
             "events": [{"type": "A"}]}""";

    private String text;
    private KieBase base;

    /** The engine, with its classes loaded, so that the first run is not slower than the others. */
    DroolsEngine() {
        super("drools", List.of("cel"), List.of("project", "or", "contiguous", "correlation", "strict", "partition"));
        answer(Run.of(new JSONObject(FIRST)));
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(DroolsEngine::new);
    }

    @Override
    public JSONObject claims() {
        return new JSONObject()
                .put("cel", new JSONObject().put("operators", new JSONArray(OPERATORS)).put("ordered_time", true));
    }

    @Override
    public Answer answer(Run run) {
        Rules rules = new Rules(run);
        run.translated(rules.text);
        List<Long> moments = moments(run, rules.timed);
        compile(rules.text);
        Gathering gathering = new Gathering(rules.outline.variables(), run.valuations());
        KieSessionConfiguration clock = KieServices.get().newKieSessionConfiguration();
        clock.setOption(ClockTypeOption.PSEUDO);
        KieSession session = base.newKieSession(clock, null);
        try {
            run.stopwatch().<List<Integer>>time(
                    receiver -> send(run, rules, moments, session, receiver), (at, row) -> {
                        List<Definition> chain = rules.chains.get(row.get(0));
                        gathering.add(at, definition -> chain.contains(definition)
                                ? List.of(row.get(1 + chain.indexOf(definition)))
                                : List.of());
                    });
        } finally {
            session.dispose();
        }
        return new Answer.Matches(gathering.matches());
    }

    private void compile(String rules) {
        if (!rules.equals(text)) {
            try {
                base = new KieHelper()
                        .addContent(rules, ResourceType.DRL)
                        .build(ExecutableModelProject.class, EventProcessingOption.STREAM);
            } catch (RuntimeException e) {
                throw new Problem(Problem.Code.INTERNAL, "Drools does not compile the rules: " + e.getMessage(), e);
            }
            text = rules;
        }
    }

    private void send(
            Run run, Rules rules, List<Long> moments, KieSession session, BiConsumer<Integer, List<Integer>> receiver) {
        List<List<Integer>> found = new ArrayList<>();
        session.setGlobal("found", found);
        SessionPseudoClock clock = session.getSessionClock();
        for (int at = 0; at < moments.size(); at++) {
            clock.advanceTime(moments.get(at) - clock.getCurrentTime(), TimeUnit.MILLISECONDS);
            Event event = run.events().get(at);
            String type = rules.type(event.type());
            if (type != null) {
                session.insert(fact(type, event, at, moments.get(at)));
            }
            session.fireAllRules();
            for (List<Integer> row : found) {
                receiver.accept(at, row);
            }
            found.clear();
        }
    }

    private Object fact(String name, Event event, int position, long moment) {
        FactType type = base.getFactType("cerify", name);
        try {
            Object fact = type.newInstance();
            type.set(fact, "moment", moment);
            type.set(fact, "position", position);
            event.attributes().forEach(
                    (attribute, value) -> type.set(fact, Conditions.identifier("a_", attribute), value));
            return fact;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The moments of the events for the clock, which begins at 0. */
    private static List<Long> moments(Run run, boolean timed) {
        List<Long> moments = new ArrayList<>();
        boolean micro = run.schema().attributes().get("time") == AttributeType.TIMESTAMP;
        BigDecimal first = null;
        for (int i = 0; i < run.events().size(); i++) {
            if (!timed) {
                moments.add((long) i);
                continue;
            }
            if (!(run.events().get(i).attributes().get("time") instanceof Number number)) {
                throw DroolsClaims.skip("an event without a time");
            }
            BigDecimal time = new BigDecimal(number.toString()).scaleByPowerOfTen(micro ? -3 : 3);
            first = i == 0 ? time : first;
            moments.add(Rules.milliseconds(time.subtract(first)));
            if (i > 0 && moments.get(i) < moments.get(i - 1)) {
                throw DroolsClaims.skip("time decreases: the clock of a session does not");
            }
        }
        return moments;
    }
}
