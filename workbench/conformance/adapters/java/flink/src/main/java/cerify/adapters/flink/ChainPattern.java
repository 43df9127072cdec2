package cerify.adapters.flink;

import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Event;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.GroupPattern;
import org.apache.flink.cep.pattern.Pattern;

/**
 * A chain in the Pattern API, over the positions of a stream.
 *
 * <p>{@code ;} is followedByAny and {@code :} is next; {@code +} has allowCombinations and {@code :+} has consecutive.
 * No match is left out for another: the skip strategy is noSkip.
 */
final class ChainPattern {

    private final Chain chain;
    private final List<Event> stream;
    private final Taking taking;
    private final Map<Definition, String> names = new HashMap<>();

    ChainPattern(Chain chain, List<Event> stream, Taking taking) {
        this.chain = chain;
        this.stream = List.copyOf(stream);
        this.taking = taking;
        name(chain);
    }

    /** The pattern, with a window if there is one. */
    Pattern<Integer, ?> pattern(Optional<Duration> window) {
        Pattern<Integer, Integer> pattern = sequence(chain);
        return window.isPresent() ? pattern.within(window.get()) : pattern;
    }

    /** The pattern as it is written in Java, but for the conditions: of these the event types. */
    String text(Optional<Duration> window) {
        return text(chain) + window.map(width -> ".within(Duration.parse(\"" + width + "\"))").orElse("");
    }

    private String text(Chain part) {
        StringBuilder text = new StringBuilder();
        for (Chain.Step step : part.steps()) {
            String begun = step.contiguous() ? ".next(" : ".followedByAny(";
            text.append(text.isEmpty() ? "Pattern.begin(" : begun);
            if (step instanceof Chain.Single single) {
                List<String> types =
                        single.definitions().stream().map(Definition::type).distinct().toList();
                text.append('"').append(names.get(single.definitions().get(0))).append('"');
                text.append(").where(").append(String.join(" or ", types)).append(" …)");
            } else {
                text.append(text(((Chain.Group) step).chain())).append(")");
            }
            text.append(rounds(step.rounds()));
        }
        return text.toString();
    }

    private static String rounds(Chain.Rounds rounds) {
        if (rounds.isOnce()) {
            return "";
        }
        String least = rounds.least() == 1 ? ".oneOrMore()" : ".timesOrMore(" + rounds.least() + ")";
        String number = rounds.most() == 0 ? least : ".times(" + rounds.least() + ", " + rounds.most() + ")";
        return number + (rounds.contiguous() ? ".consecutive()" : ".allowCombinations()");
    }

    /** The positions of a definition in a match, which maps the names of steps to positions. */
    Function<Definition, Collection<Integer>> positions(Map<String, List<Integer>> match) {
        return definition -> match.getOrDefault(names.getOrDefault(definition, ""), List.of()).stream()
                .filter(position -> stream.get(position).type().equals(definition.type()))
                .toList();
    }

    private void name(Chain part) {
        for (Chain.Step step : part.steps()) {
            if (step instanceof Chain.Single single) {
                String name = single.definitions().get(0).name();
                single.definitions().forEach(definition -> names.put(definition, name));
            } else {
                name(((Chain.Group) step).chain());
            }
        }
    }

    private Pattern<Integer, Integer> sequence(Chain part) {
        Pattern<Integer, Integer> pattern = null;
        for (Chain.Step step : part.steps()) {
            pattern = step instanceof Chain.Single single
                    ? single(pattern, single)
                    : group(pattern, (Chain.Group) step);
        }
        return pattern;
    }

    private Pattern<Integer, Integer> single(Pattern<Integer, Integer> before, Chain.Single step) {
        String name = names.get(step.definitions().get(0));
        Pattern<Integer, Integer> pattern;
        if (before == null) {
            pattern = Pattern.begin(name, AfterMatchSkipStrategy.noSkip());
        } else {
            pattern = step.contiguous() ? before.next(name) : before.followedByAny(name);
        }
        return repeated(pattern.where(new Condition(step.definitions(), names, stream, taking)), step.rounds());
    }

    private Pattern<Integer, Integer> group(Pattern<Integer, Integer> before, Chain.Group step) {
        Pattern<Integer, Integer> inner = sequence(step.chain());
        GroupPattern<Integer, Integer> group;
        if (before == null) {
            group = Pattern.begin(inner, AfterMatchSkipStrategy.noSkip());
        } else {
            group = step.contiguous() ? before.next(inner) : before.followedByAny(inner);
        }
        return repeated(group, step.rounds());
    }

    private static Pattern<Integer, Integer> repeated(Pattern<Integer, Integer> pattern, Chain.Rounds rounds) {
        if (rounds.isOnce()) {
            return pattern;
        }
        Pattern<Integer, Integer> repeated;
        if (rounds.most() == 0) {
            repeated = rounds.least() == 1 ? pattern.oneOrMore() : pattern.timesOrMore(rounds.least());
        } else {
            repeated = pattern.times(rounds.least(), rounds.most());
        }
        return rounds.contiguous() ? repeated.consecutive() : repeated.allowCombinations();
    }
}
