package cerify.adapters.sase;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.SaseQuery;
import cerify.adapters.cel.Term;
import cerify.adapters.cel.Truth;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Schema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The meaning of a query file by the definition of SASE+ (sase07, section 2.2), in the place of SASE.
 *
 * <p>Of the file: a condition belongs to the component whose letter it begins with. That on {@code b[i]} is on the second
 * event of a Kleene plus and those after it, any other on the first; {@code [i-1]} is the event taken before.
 */
final class FileMeaning implements Search {

    private static final Pattern COMPONENT = Pattern.compile("(!?)(\\w+)(\\+?) ([a-z])(?=[,)\\[])");
    private static final Pattern SIDE = Pattern.compile("(\\w(?:\\[[^]]+])?)\\.(.+?)(?: ?([-+*]) ?(\\d+))?");

    private record Condition(String letter, boolean later, Predicate predicate) {}

    private record Taken(int component, int position) {}

    private List<SaseQuery.Component> pattern;
    private List<SaseQuery.Component> positive;
    private List<String> tests;
    private List<Condition> conditions;
    private String strategy;
    private int window;
    private List<Event> stream;
    private List<Integer> times;
    private Truth truth;

    @Override
    public void run(String query, List<Input> inputs, BiConsumer<Integer, Set<Integer>> receiver) {
        read(query);
        times = inputs.stream().map(Input::time).toList();
        stream = inputs.stream().map(FileMeaning::event).toList();
        Map<String, AttributeType> types = new TreeMap<>();
        inputs.forEach(input -> input.attributes().keySet().forEach(name -> types.put(name, AttributeType.INT)));
        truth = new Truth(new Schema(types, Set.of()));
        for (int p = 0; p < stream.size(); p++) {
            if (selects(List.of(), 0, p)) {
                grow(List.of(new Taken(0, p)), receiver);
            }
        }
    }

    private static Event event(Input input) {
        Map<String, Object> attributes = new HashMap<>();
        input.attributes().forEach((name, value) -> attributes.put(name, (long) value));
        return new Event(input.type(), attributes);
    }

    private void read(String query) {
        List<String> lines = Arrays.asList(query.split("\n"));
        pattern = COMPONENT.matcher(lines.get(0)).results().map(FileMeaning::component).toList();
        positive = pattern.stream().filter(component -> !component.negated()).toList();
        tests = new ArrayList<>();
        conditions = new ArrayList<>();
        for (String line : lines.subList(1, lines.size())) {
            String rest = line.substring(line.indexOf(' ') + 1);
            if (line.startsWith("WHERE")) {
                strategy = rest;
            } else if (line.startsWith("WITHIN")) {
                window = Integer.parseInt(rest);
            } else if (rest.startsWith("[")) {
                tests.add(rest.substring(1, rest.length() - 1));
            } else {
                String[] parts = rest.split(" (?=[<>!=])|(?<=[<>=]) ");
                Predicate predicate = new Predicate.Comparison(parts[1], side(parts[0]), side(parts[2]));
                conditions.add(new Condition(rest.substring(0, 1), rest.substring(1).startsWith("[i]"), predicate));
            }
        }
    }

    private static SaseQuery.Component component(MatchResult found) {
        return new SaseQuery.Component(
                found.group(2), found.group(4), !found.group(3).isEmpty(), !found.group(1).isEmpty());
    }

    /** A number, or an attribute that may have an operator and a number after it. */
    private static Term side(String text) {
        Matcher found = SIDE.matcher(text);
        if (!found.matches()) {
            return constant(text.replace("0-", "-"));
        }
        Term attribute = new Term.Attribute(found.group(1), found.group(2));
        return found.group(3) == null
                ? attribute
                : new Term.Arithmetic(found.group(3), attribute, constant(found.group(4)));
    }

    private static Term constant(String number) {
        return new Term.Constant(Long.valueOf(number), AttributeType.INT);
    }

    private void grow(List<Taken> chosen, BiConsumer<Integer, Set<Integer>> receiver) {
        Taken last = chosen.get(chosen.size() - 1);
        boolean isLast = last.component() == positive.size() - 1;
        if (isLast && mayLeave(chosen, stream.size(), last.position() + 1) && !isForbidden(chosen)) {
            Set<Integer> events = chosen.stream().map(Taken::position).collect(Collectors.toCollection(TreeSet::new));
            receiver.accept(last.position(), events);
        }
        for (int p = last.position() + 1; p < stream.size(); p++) {
            if (positive.get(last.component()).kleene() && goesOn(chosen, p)) {
                grow(with(chosen, last.component(), p), receiver);
            }
            if (!isLast && selects(chosen, last.component() + 1, p) && mayLeave(chosen, p, last.position() + 1)) {
                grow(with(chosen, last.component() + 1, p), receiver);
            }
        }
    }

    private static List<Taken> with(List<Taken> chosen, int component, int p) {
        List<Taken> longer = new ArrayList<>(chosen);
        longer.add(new Taken(component, p));
        return longer;
    }

    private boolean goesOn(List<Taken> chosen, int p) {
        Taken last = chosen.get(chosen.size() - 1);
        if (!selects(chosen, last.component(), p) || isOver(chosen, p)) {
            return false;
        }
        for (int r = last.position() + 1; r < p; r++) {
            if (!passes(chosen, r)) {
                return false;
            }
        }
        return true;
    }

    /** Whether the component taken last may be left for the event at p: at some place, all after which is passed over. */
    private boolean mayLeave(List<Taken> chosen, int p, int from) {
        int k = chosen.get(chosen.size() - 1).component();
        boolean kleene = positive.get(k).kleene();
        for (int t = from; t <= (kleene ? p : from); t++) {
            boolean clear = k + 1 == positive.size();
            if (!clear) {
                clear = true;
                for (int r = t; r < p; r++) {
                    clear &= skips(chosen, k + 1, r);
                }
            }
            if (clear && (!kleene || mayStop(chosen, t))) {
                return true;
            }
            if (t == stream.size() || !kleene || !passes(chosen, t)) {
                return false;
            }
        }
        return false;
    }

    private boolean mayStop(List<Taken> chosen, int t) {
        int k = chosen.get(chosen.size() - 1).component();
        if (t == stream.size()) {
            return true;
        }
        boolean next = k + 1 < positive.size() && selects(chosen, k + 1, t);
        boolean stays = passes(chosen, t) || (selects(chosen, k, t) && !isOver(chosen, t));
        return next || !stays;
    }

    private boolean passes(List<Taken> chosen, int r) {
        return !isOver(chosen, r) && skips(chosen, chosen.get(chosen.size() - 1).component(), r);
    }

    private boolean skips(List<Taken> chosen, int k, int r) {
        return switch (strategy) {
            case "skip-till-any-match" -> true;
            case "skip-till-next-match" -> !selects(chosen, k, r);
            case "partition-contiguity" -> !agrees(r, chosen.get(chosen.size() - 1).position());
            default -> throw new IllegalArgumentException(strategy);
        };
    }

    private boolean isOver(List<Taken> chosen, int p) {
        return times.get(p) - times.get(chosen.get(0).position()) >= window;
    }

    private boolean selects(List<Taken> chosen, int k, int p) {
        if (!stream.get(p).type().equals(positive.get(k).type())) {
            return false;
        }
        boolean later = !chosen.isEmpty() && chosen.get(chosen.size() - 1).component() == k;
        return (chosen.isEmpty() || (!isOver(chosen, p) && agrees(p, chosen.get(chosen.size() - 1).position())))
                && holds(positive.get(k).variable(), later, chosen, p);
    }

    private boolean agrees(int p, int earlier) {
        return tests.stream().allMatch(test ->
                stream.get(p).attributes().get(test).equals(stream.get(earlier).attributes().get(test)));
    }

    private boolean holds(String letter, boolean later, List<Taken> chosen, int p) {
        for (Condition condition : conditions) {
            if (condition.letter().equals(letter) && condition.later() == later) {
                List<Event> events = new ArrayList<>();
                for (Term.Attribute mention : condition.predicate().mentions()) {
                    events.add(stream.get(mentioned(mention.variable(), letter, chosen, p)));
                }
                if (!truth.of(condition.predicate(), events)) {
                    return false;
                }
            }
        }
        return true;
    }

    private int mentioned(String mention, String letter, List<Taken> chosen, int p) {
        if (mention.endsWith("[i-1]")) {
            return chosen.get(chosen.size() - 1).position();
        }
        String variable = SaseQuery.variable(mention);
        if (variable.equals(letter)) {
            return p;
        }
        return chosen.stream()
                .filter(taken -> positive.get(taken.component()).variable().equals(variable))
                .findFirst()
                .orElseThrow()
                .position();
    }

    /** Whether an event of the negated component is between those of its neighbours. */
    private boolean isForbidden(List<Taken> match) {
        for (int i = 0; i < pattern.size(); i++) {
            SaseQuery.Component negated = pattern.get(i);
            if (!negated.negated()) {
                continue;
            }
            int before = i - 1;
            List<Taken> earlier = match.stream().filter(taken -> taken.component() <= before).toList();
            int low = earlier.get(earlier.size() - 1).position();
            int high = match.get(earlier.size()).position();
            for (int p = low + 1; p < high; p++) {
                if (stream.get(p).type().equals(negated.type()) && agrees(p, low)
                        && holds(negated.variable(), false, earlier, p)) {
                    return true;
                }
            }
        }
        return false;
    }
}
