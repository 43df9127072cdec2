package cerify.adapters.flink;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.flink.cep.pattern.GroupPattern;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.Quantifier;
import org.apache.flink.cep.pattern.Quantifier.ConsumingStrategy;
import org.apache.flink.cep.pattern.Quantifier.QuantifierProperty;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;

/**
 * The meaning of a pattern by the manual of Flink CEP, in the place of its NFA: all ways to take events, in the order of the
 * steps, where a strict step and a strict round begin at the next event, and others at any. A window is closed, as that of
 * CEL; Flink's is open, which is a finding.
 */
final class PatternMeaning implements Search {

    private final List<Pattern<Integer, ?>> steps;
    private final long window;
    private final Map<String, List<Integer>> taken = new LinkedHashMap<>();
    private long[] timestamps;
    private BiConsumer<Integer, Map<String, List<Integer>>> receiver;

    /** What is looked for after a part of the pattern; next is the first position that is not used. */
    private interface Rest {
        void from(int next);
    }

    PatternMeaning(Pattern<Integer, ?> pattern) {
        steps = sequence(pattern);
        window = pattern.getWindowSize().map(Duration::toMillis).orElse(Long.MAX_VALUE);
    }

    @Override
    public void run(long[] times, BiConsumer<Integer, Map<String, List<Integer>>> matches) {
        timestamps = times;
        receiver = matches;
        steps(steps, ConsumingStrategy.SKIP_TILL_ANY, 0, this::matched);
    }

    private static List<Pattern<Integer, ?>> sequence(Pattern<Integer, ?> last) {
        LinkedList<Pattern<Integer, ?>> found = new LinkedList<>();
        for (Pattern<Integer, ?> step = last; step != null; step = step.getPrevious()) {
            found.addFirst(step);
        }
        return found;
    }

    private void matched(int next) {
        Map<String, List<Integer>> match = new TreeMap<>();
        taken.forEach((name, positions) -> match.put(name, List.copyOf(positions)));
        int first = match.values().stream().mapToInt(positions -> positions.get(0)).min().orElseThrow();
        if (timestamps[next - 1] - timestamps[first] <= window) {
            receiver.accept(next - 1, match);
        }
    }

    private void steps(List<Pattern<Integer, ?>> some, ConsumingStrategy into, int next, Rest rest) {
        if (some.isEmpty()) {
            rest.from(next);
            return;
        }
        List<Pattern<Integer, ?>> others = some.subList(1, some.size());
        ConsumingStrategy onward =
                others.isEmpty() ? null : others.get(0).getQuantifier().getConsumingStrategy();
        rounds(some.get(0), 1, into, next, end -> steps(others, onward, end, rest));
    }

    private void rounds(Pattern<Integer, ?> step, int round, ConsumingStrategy into, int next, Rest rest) {
        Quantifier quantifier = step.getQuantifier();
        boolean once = quantifier.hasProperty(QuantifierProperty.SINGLE);
        boolean endless = quantifier.hasProperty(QuantifierProperty.LOOPING);
        int least = once ? 1 : step.getTimes().getFrom();
        int most = once ? 1 : endless ? Integer.MAX_VALUE : step.getTimes().getTo();
        Rest after = end -> {
            if (round >= least) {
                rest.from(end);
            }
            if (round < most) {
                rounds(step, round + 1, quantifier.getInnerConsumingStrategy(), end, rest);
            }
        };
        if (step instanceof GroupPattern<Integer, ?> group) {
            steps(sequence(group.getRawPattern()), into, next, after);
        } else {
            one(step, into, next, after);
        }
    }

    private void one(Pattern<Integer, ?> step, ConsumingStrategy into, int next, Rest rest) {
        if (into != ConsumingStrategy.STRICT && into != ConsumingStrategy.SKIP_TILL_ANY) {
            throw new IllegalStateException("the adapter writes no " + into);
        }
        int end = into == ConsumingStrategy.STRICT ? Math.min(next + 1, timestamps.length) : timestamps.length;
        for (int position = next; position < end; position++) {
            if (fits(step, position)) {
                taken.computeIfAbsent(step.getName(), name -> new ArrayList<>()).add(position);
                rest.from(position + 1);
                List<Integer> positions = taken.get(step.getName());
                positions.remove(positions.size() - 1);
                if (positions.isEmpty()) {
                    taken.remove(step.getName());
                }
            }
        }
    }

    private boolean fits(Pattern<Integer, ?> step, int position) {
        @SuppressWarnings("unchecked")
        IterativeCondition<Integer> condition = (IterativeCondition<Integer>) step.getCondition();
        try {
            return condition.filter(position, new Taken());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The events that the steps have taken so far. */
    private final class Taken implements IterativeCondition.Context<Integer> {

        @Override
        public Iterable<Integer> getEventsForPattern(String name) {
            return List.copyOf(taken.getOrDefault(name, List.of()));
        }

        @Override
        public long timestamp() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long currentProcessingTime() {
            throw new UnsupportedOperationException();
        }
    }
}
