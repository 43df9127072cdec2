package findings;

import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.stream.*;
import org.drools.model.codegen.ExecutableModelProject;
import org.kie.api.*;
import org.kie.api.conf.EventProcessingOption;
import org.kie.api.io.ResourceType;
import org.kie.api.runtime.conf.ClockTypeOption;
import org.kie.api.time.SessionPseudoClock;
import org.kie.internal.utils.KieHelper;

/** A rule over events, each of a type, with a time in milliseconds and a value; how often it fires after each of them. */
final class Rule {
    static KieBase base(String patterns, String consequence) {
        String types = Stream.of("A", "B", "C").map("declare %s @role(event) @timestamp(time) time : long x : Long end "::formatted).collect(Collectors.joining());
        String rule = "package findings; global java.util.List found; " + types + "rule R when " + patterns + " then " + consequence + " end";
        return new KieHelper().addContent(rule, ResourceType.DRL).build(ExecutableModelProject.class, EventProcessingOption.STREAM);
    }

    static void show(String patterns, Object... events) throws Exception {
        var base = base(patterns, "found.add(1);");
        var options = KieServices.get().newKieSessionConfiguration();
        options.setOption(ClockTypeOption.PSEUDO);
        var session = base.newKieSession(options, null);
        List<Integer> found = new ArrayList<>();
        session.setGlobal("found", found);
        for (int i = 0; i < events.length; i += 3) {
            SessionPseudoClock clock = session.getSessionClock();
            clock.advanceTime((int) events[i + 1] - clock.getCurrentTime(), TimeUnit.MILLISECONDS);
            var type = base.getFactType("findings", (String) events[i]);
            Object event = type.newInstance();
            type.setFromMap(event, new HashMap<>(Map.of("time", (long) (int) events[i + 1])));
            type.set(event, "x", events[i + 2]);
            session.insert(event);
            session.fireAllRules();
            System.out.println(patterns + " after " + events[i] + " at " + events[i + 1] + ": " + found.size());
            found.clear();
        }
    }
}
