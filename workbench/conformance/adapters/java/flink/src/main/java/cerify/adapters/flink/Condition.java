package cerify.adapters.flink;

import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;

/** Whether the event at a position can be taken for one of the definitions of a step. */
final class Condition extends IterativeCondition<Integer> {

    private static final long serialVersionUID = 1L;

    private final ArrayList<Definition> definitions;
    private final Map<Definition, String> names;
    private final ArrayList<Event> stream;
    private final Taking taking;

    Condition(List<Definition> definitions, Map<Definition, String> names, List<Event> stream, Taking taking) {
        this.definitions = new ArrayList<>(definitions);
        this.names = names;
        this.stream = new ArrayList<>(stream);
        this.taking = taking;
    }

    @Override
    public boolean filter(Integer position, Context<Integer> context) throws Exception {
        Event event = stream.get(position);
        for (Definition definition : definitions) {
            if (taking.fits(definition, event)
                    && (!taking.isCorrelated(definition)
                            || taking.agrees(definition, event, other -> taken(other, context)))) {
                return true;
            }
        }
        return false;
    }

    private List<Event> taken(Definition definition, Context<Integer> context) {
        List<Event> events = new ArrayList<>();
        try {
            if (names.containsKey(definition)) {
                for (Integer position : context.getEventsForPattern(names.get(definition))) {
                    if (stream.get(position).type().equals(definition.type())) {
                        events.add(stream.get(position));
                    }
                }
            }
        } catch (Exception e) {
            throw new IllegalStateException("Flink cannot list the events taken for " + names.get(definition), e);
        }
        return events;
    }
}
