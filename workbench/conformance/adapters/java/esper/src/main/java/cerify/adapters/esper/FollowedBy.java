package cerify.adapters.esper;

import cerify.adapters.outline.Constraint;
import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/**
 * NXT of a sequence as an EPL pattern, {@code every a -> b -> c}: what Esper has for skip-till-next-match.
 *
 * <p>{@code every} stands before the first event only, so that each begins a match of its own, which then takes the first
 * event that fits at every further step. An iteration is {@code [1:] b until c}, which collects every b up to the first c.
 * Whether that is CEL's NXT, the greatest complex event of all that end at the same position, is for the harness to tell.
 */
final class FollowedBy {

    private final Outline outline;
    private final Expressions expressions;

    /** One event of one of the definitions, or several if iterated. */
    private record Step(List<Definition> definitions, boolean iterated) {}

    private FollowedBy(Outline outline, EventType type) {
        this.outline = outline;
        this.expressions = new Expressions(type);
    }

    /** The EPL module, whose statement of the name {@link EplModule#MATCHES} has a property for each definition. */
    static String epl(Outline outline, EventType type) {
        return new FollowedBy(outline, type).module();
    }

    private String module() {
        String positions = outline.definitions().stream()
                .map(definition -> EplModule.positions(definition) + " as " + definition.name())
                .collect(Collectors.joining(", "));
        List<String> chains = chains(outline.shape()).stream().map(this::chain).toList();
        String pattern = chains.size() == 1 ? chains.get(0) : "(" + String.join(") or (", chains) + ")";
        return EplModule.named("select " + positions + " from pattern [" + pattern + "]");
    }

    /** The shape as alternative sequences of steps. */
    private static List<List<Step>> chains(Shape shape) {
        List<Definition> single = single(shape);
        if (single != null) {
            return List.of(List.of(new Step(single, false)));
        }
        if (shape instanceof Shape.Choice choice) {
            return choice.shapes().stream().flatMap(branch -> chains(branch).stream()).toList();
        }
        if (shape instanceof Shape.Then then) {
            requireGaps(then.contiguous());
            List<List<Step>> chains = new ArrayList<>();
            for (List<Step> left : chains(then.left())) {
                for (List<Step> right : chains(then.right())) {
                    List<Step> chain = new ArrayList<>(left);
                    chain.addAll(right);
                    chains.add(chain);
                }
            }
            return chains;
        }
        Shape.Repeat repeat = (Shape.Repeat) shape;
        requireGaps(repeat.contiguous());
        List<Definition> round = single(repeat.shape());
        if (repeat.least() != 1 || repeat.most() != 0) {
            throw Manual.PATTERNS.skip("a bounded iteration under NXT");
        }
        if (round == null) {
            throw Manual.PATTERNS.skip("an iteration of a sequence: repeat-until of EPL patterns ends when the event after "
                    + "it comes, and that cuts a round that has begun");
        }
        return List.of(List.of(new Step(round, true)));
    }

    /** The definitions of a shape that is a choice of single events, or null. */
    private static List<Definition> single(Shape shape) {
        if (shape instanceof Shape.One one) {
            return List.of(one.definition());
        }
        if (shape instanceof Shape.Choice choice) {
            List<Definition> all = new ArrayList<>();
            for (Shape branch : choice.shapes()) {
                List<Definition> single = single(branch);
                if (single == null) {
                    return null;
                }
                all.addAll(single);
            }
            return all;
        }
        return null;
    }

    private static void requireGaps(boolean contiguous) {
        if (contiguous) {
            throw Manual.PATTERNS.skip("contiguity under NXT: -> of EPL patterns always skips events that do not fit");
        }
    }

    private String chain(List<Step> steps) {
        List<Definition> here = steps.stream().flatMap(step -> step.definitions.stream()).toList();
        List<String> links = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            String link = atom(step, here);
            if (step.iterated) {
                if (i + 1 == steps.size() || steps.get(i + 1).iterated) {
                    throw Manual.PATTERNS.skip("an iteration at the end, or before another: repeat-until of EPL patterns "
                            + "reports when the single event after it comes");
                }
                link = "([1:] " + link + " until " + atom(steps.get(++i), here) + ")";
            }
            links.add(links.isEmpty() ? "every " + link : link);
        }
        return String.join(" -> ", links);
    }

    private String atom(Step step, List<Definition> here) {
        List<String> atoms = step.definitions.stream().map(d -> filter(d, here)).toList();
        return atoms.size() == 1 ? atoms.get(0) : "(" + String.join(" or ", atoms) + ")";
    }

    private String filter(Definition definition, Collection<Definition> here) {
        List<String> conditions = new ArrayList<>();
        conditions.add(Expressions.hasType("", definition.type()));
        definition.conditions().forEach(p -> conditions.add(
                expressions.of(p, Collections.nCopies(p.mentions().size(), ""))));
        for (Constraint constraint : outline.constraints()) {
            if (constraint.last() == definition && here.containsAll(constraint.definitions())) {
                correlate(constraint, conditions);
            }
        }
        return definition.name() + "=" + EventType.NAME + "(" + String.join(" and ", conditions) + ")";
    }

    private void correlate(Constraint constraint, List<String> conditions) {
        if (!constraint.isTestedAtLast() || constraint.earlier().stream().anyMatch(Definition::isIterated)) {
            throw Manual.PATTERNS.skip("a correlated filter over the events of an iteration: the tag of a repeat-until "
                    + "is an array when the next event is filtered");
        }
        List<String> prefixes = constraint.definitions().stream()
                .map(d -> d == constraint.last() ? "" : d.name() + ".")
                .toList();
        String test = "(" + expressions.of(constraint.predicate(), prefixes) + ")";
        for (Definition earlier : constraint.earlier()) {
            if (earlier.isOptional()) {
                test = "(" + earlier.name() + "." + EventType.POSITION + " is null or " + test + ")";
            }
        }
        conditions.add(test);
    }
}
