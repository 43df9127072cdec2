package cerify.adapters.siddhi;

import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Run;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/**
 * A pattern or sequence of SiddhiQL as an app of its own, and the events of a run as its rows.
 *
 * <p>All events are of one stream, with the columns type, position and one for each attribute. {@code every} stands in
 * front, so that each event can begin a match. Time is that of the events (playback): the attribute time, or the position.
 */
final class SiddhiRun {

    static final String TYPE = "event_type";
    static final String POSITION = "event_position";
    static final String STREAM = "Events";

    private final Run run;
    private final List<Step> steps;
    private final String app;
    private final boolean windowed;

    SiddhiRun(Run run, List<Step> steps, String connective, String window) {
        if (steps.size() == 1 && steps.get(0).isIterated()) {
            throw SiddhiClaims.skip("a count is not a query of its own", "counting-pattern");
        }
        this.run = run;
        this.steps = steps;
        this.windowed = !window.isEmpty();
        this.app = "@app:playback " + definition() + " @info(name = 'matches') from every " + pattern(connective) + window
                + " select " + selection() + " insert into Matches;";
    }

    private String definition() {
        String columns = run.schema().attributes().entrySet().stream()
                .map(entry -> ", " + Expressions.column(entry.getKey()) + " " + siddhiType(entry.getValue()))
                .collect(Collectors.joining());
        return "define stream " + STREAM + " (" + TYPE + " string, " + POSITION + " int" + columns + ");";
    }

    private static String siddhiType(AttributeType type) {
        return switch (type) {
            case INT, TIMESTAMP -> "long";
            case FLOAT -> "double";
            case STRING -> "string";
            case BOOL -> "bool";
        };
    }

    private String pattern(String connective) {
        StringBuilder text = new StringBuilder();
        boolean negated = false;
        for (Step step : steps) {
            text.append(text.isEmpty() || negated ? "" : " " + connective + " ");
            String filter = STREAM + "[" + String.join(" and ", step.filters()) + "]";
            negated = step.negated();
            if (negated) {
                text.append("not ").append(filter).append(" and ");
            } else {
                text.append(step.name()).append("=").append(filter).append(count(step, connective));
            }
        }
        return text.toString();
    }

    private static String count(Step step, String connective) {
        if (!step.isIterated()) {
            return "";
        }
        if (connective.equals(",") && step.least() == 1 && step.most() == 0) {
            return "+";
        }
        return "<" + step.least() + ":" + (step.most() == 0 ? "" : step.most()) + ">";
    }

    private String selection() {
        List<String> columns = new ArrayList<>();
        for (Step step : steps) {
            if (step.negated()) {
                continue;
            }
            if (!step.isIterated()) {
                columns.add(step.name() + "." + POSITION + " as " + step.name() + "_0");
                continue;
            }
            for (int i = 0; i < run.events().size(); i++) {
                columns.add(step.name() + "[" + i + "]." + POSITION + " as " + step.name() + "_" + i);
            }
        }
        return String.join(", ", columns);
    }

    /** Sends the events; receives each match as the positions of each step, with the position that brought it forth. */
    void run(Apps apps, BiConsumer<Integer, Map<String, List<Integer>>> receiver) {
        if (run.events().isEmpty()) {
            return;
        }
        long[] timestamps = timestamps();
        List<Object[]> rows = new ArrayList<>();
        run.events().forEach(event -> rows.add(row(event, rows.size())));
        run.translated(app);
        apps.run(app, timestamps, rows, run.stopwatch(), (at, row) -> receiver.accept(at, positions(row)));
    }

    private Map<String, List<Integer>> positions(Object[] data) {
        Map<String, List<Integer>> found = new LinkedHashMap<>();
        int column = 0;
        for (Step step : steps) {
            if (!step.negated()) {
                List<Integer> positions = new ArrayList<>();
                for (int i = 0; i < (step.isIterated() ? run.events().size() : 1); i++) {
                    if (data[column++] instanceof Integer position) {
                        positions.add(position);
                    }
                }
                found.put(step.name(), positions);
            }
        }
        return found;
    }

    private Object[] row(Event event, int position) {
        List<Object> row = new ArrayList<>(List.of(event.type(), position));
        run.schema().attributes().keySet().forEach(attribute -> row.add(event.attributes().get(attribute)));
        return row.toArray();
    }

    private long[] timestamps() {
        long[] timestamps = new long[run.events().size()];
        AttributeType type = run.schema().attributes().get("time");
        for (int i = 0; i < timestamps.length; i++) {
            timestamps[i] = 1 + i;
            if (windowed) {
                if (!(run.events().get(i).attributes().get("time") instanceof Number number)) {
                    throw SiddhiClaims.skip("an event without a time", "pattern");
                }
                double unit = type == AttributeType.TIMESTAMP ? 1e-3 : 1_000;
                timestamps[i] = Math.round(number.doubleValue() * unit) + 1; // the time 0 is none in playback
                if (i > 0 && timestamps[i] < timestamps[i - 1]) {
                    throw SiddhiClaims.skip("time decreases: the clock of an app does not", "pattern");
                }
            }
        }
        return timestamps;
    }
}
