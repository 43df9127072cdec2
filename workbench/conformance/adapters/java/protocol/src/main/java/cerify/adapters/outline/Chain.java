package cerify.adapters.outline;

import cerify.adapters.protocol.Skip;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * A shape as a sequence of steps, which is the form that most engines have words for.
 *
 * <p>A choice outside of iterations is distributed: the shape becomes several chains, and its matches are those of all
 * of them. Inside an iteration a choice of single events is one step.
 */
public record Chain(List<Step> steps) {

    private static final int MOST_CHAINS = 64;

    /** How often a step is taken. */
    public record Rounds(int least, int most, boolean contiguous) {

        /** Exactly once. */
        public static final Rounds ONCE = new Rounds(1, 1, false);

        /** Whether the step is taken exactly once. */
        public boolean isOnce() {
            return least == 1 && most == 1;
        }
    }

    /** A step: contiguous if it begins right after the step before it. */
    public sealed interface Step {

        /** Whether the step begins at the event right after the step before it. */
        boolean contiguous();

        /** How often it is taken. */
        Rounds rounds();
    }

    /** One event of one of the definitions, in each round. */
    public record Single(List<Definition> definitions, boolean contiguous, Rounds rounds) implements Step {}

    /** A chain, in each round. */
    public record Group(Chain chain, boolean contiguous, Rounds rounds) implements Step {}

    /**
     * The chains of a shape.
     *
     * @param unsayable the Skip for an iteration of a choice that has more than single events in a branch
     */
    public static List<Chain> of(Shape shape, Supplier<Skip> unsayable) {
        List<Chain> chains = chains(shape, unsayable);
        if (chains.size() > MOST_CHAINS) {
            throw unsayable.get();
        }
        return chains;
    }

    /** The definitions of all steps, from left to right. */
    public List<Definition> definitions() {
        List<Definition> found = new ArrayList<>();
        for (Step step : steps) {
            found.addAll(step instanceof Single single ? single.definitions() : ((Group) step).chain().definitions());
        }
        return found;
    }

    /** Whether a step is iterated, or has a chain inside. */
    public boolean hasGroup() {
        return steps.stream().anyMatch(Group.class::isInstance);
    }

    /** Whether a step begins right after the step before it, or the rounds of a step do. */
    public boolean hasContiguity() {
        return steps.stream()
                .anyMatch(step -> step.contiguous()
                        || step.rounds().contiguous()
                        || step instanceof Group group && group.chain().hasContiguity());
    }

    private static List<Chain> chains(Shape shape, Supplier<Skip> unsayable) {
        if (shape instanceof Shape.One one) {
            return List.of(new Chain(List.of(new Single(List.of(one.definition()), false, Rounds.ONCE))));
        }
        if (shape instanceof Shape.Choice choice) {
            return choice.shapes().stream().flatMap(each -> chains(each, unsayable).stream()).toList();
        }
        if (shape instanceof Shape.Then then) {
            List<Chain> joined = new ArrayList<>();
            for (Chain left : chains(then.left(), unsayable)) {
                for (Chain right : chains(then.right(), unsayable)) {
                    joined.add(joined(left, right, then.contiguous()));
                }
            }
            return joined;
        }
        Shape.Repeat repeat = (Shape.Repeat) shape;
        return List.of(new Chain(List.of(repeated(repeat, unsayable))));
    }

    private static Step repeated(Shape.Repeat repeat, Supplier<Skip> unsayable) {
        Rounds rounds = new Rounds(repeat.least(), repeat.most(), repeat.contiguous());
        List<Chain> inner = chains(repeat.shape(), unsayable);
        if (inner.stream().allMatch(Chain::isOneEvent)) {
            List<Definition> definitions =
                    inner.stream().flatMap(chain -> chain.definitions().stream()).toList();
            long types = definitions.stream().map(Definition::type).distinct().count();
            if (types == definitions.size()) {
                return new Single(definitions, false, rounds);
            }
        }
        if (inner.size() > 1) {
            throw unsayable.get();
        }
        return new Group(inner.get(0), false, rounds);
    }

    private boolean isOneEvent() {
        return steps.size() == 1 && steps.get(0) instanceof Single single && single.rounds().isOnce();
    }

    private static Chain joined(Chain left, Chain right, boolean contiguous) {
        List<Step> steps = new ArrayList<>(left.steps);
        Step first = right.steps.get(0);
        steps.add(
                first instanceof Single single
                        ? new Single(single.definitions(), contiguous, single.rounds())
                        : new Group(((Group) first).chain(), contiguous, first.rounds()));
        steps.addAll(right.steps.subList(1, right.steps.size()));
        return new Chain(steps);
    }
}
