package cerify.adapters.sase;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.SaseQuery;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Run;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The events of a run as SASE takes them. */
final class Inputs {

    private final SaseQuery query;
    private final Run run;

    Inputs(SaseQuery query, Run run) {
        this.query = query;
        this.run = run;
    }

    /** The events; throws a Skip where one lacks a whole number that the query needs. */
    List<Search.Input> events() {
        List<Search.Input> inputs = new ArrayList<>();
        for (int position = 0; position < run.events().size(); position++) {
            Event event = run.events().get(position);
            Map<String, Integer> numbers = new HashMap<>();
            event.attributes().forEach((name, value) -> {
                if (isNumber(name, value)) {
                    numbers.put(name, ((Long) value).intValue());
                }
            });
            requireAttributes(event, numbers);
            inputs.add(new Search.Input(event.type(), query.window().isPresent() ? time(numbers) : position, numbers));
        }
        for (int position = 1; position < inputs.size(); position++) {
            if (inputs.get(position).time() < inputs.get(position - 1).time()) {
                throw QueryFile.skip("time decreases");
            }
        }
        return inputs;
    }

    private boolean isNumber(String name, Object value) {
        return run.schema().attributes().get(name) == AttributeType.INT
                && value instanceof Long number
                && number.intValue() == number;
    }

    private static int time(Map<String, Integer> numbers) {
        Integer time = numbers.get("time");
        if (time == null) {
            throw QueryFile.skip("under a window every event has a time, a whole number of 32 bits");
        }
        return time;
    }

    private void requireAttributes(Event event, Map<String, Integer> numbers) {
        for (String attribute : query.equivalences()) {
            require(attribute, numbers);
        }
        for (SaseQuery.Component component : query.components()) {
            for (Predicate condition : query.conditions()) {
                for (Term.Attribute mention : condition.mentions()) {
                    if (component.type().equalsIgnoreCase(event.type())
                            && component.variable().equals(SaseQuery.variable(mention.variable()))) {
                        require(mention.name(), numbers);
                    }
                }
            }
        }
    }

    private static void require(String attribute, Map<String, Integer> numbers) {
        if (!numbers.containsKey(attribute)) {
            throw QueryFile.skip("an event without a whole number of 32 bits as its " + attribute);
        }
    }
}
