package cerify.adapters.siddhi;

import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Constraint;
import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Outline;
import cerify.adapters.protocol.Schema;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** A chain of CEL, contiguous throughout, as the steps of a sequence of SiddhiQL. */
final class ChainSequence {

    private final Chain chain;
    private final Outline outline;
    private final Expressions expressions;

    ChainSequence(Chain chain, Outline outline, Schema schema) {
        this.chain = chain;
        this.outline = outline;
        this.expressions = new Expressions(schema);
    }

    /** The steps; throws a Skip where a sequence has no words for one. */
    List<Step> steps() {
        List<Step> steps = new ArrayList<>();
        for (Chain.Step step : chain.steps()) {
            boolean last = steps.size() + 1 == chain.steps().size();
            steps.add(step(step, steps.isEmpty(), last));
        }
        for (int i = 1; i < steps.size(); i++) {
            if (steps.get(i - 1).isIterated() && type(i - 1).equals(type(i))) {
                throw SiddhiClaims.skip(
                        "an iteration before a step of its type: a count ends at the first event of the next step",
                        "counting-sequence");
            }
        }
        return steps;
    }

    private String type(int step) {
        return ((Chain.Single) chain.steps().get(step)).definitions().get(0).type();
    }

    private Step step(Chain.Step step, boolean first, boolean last) {
        if (!(step instanceof Chain.Single single) || single.definitions().size() > 1) {
            throw SiddhiClaims.skip("an iteration of more than one event", "counting-sequence");
        }
        Chain.Rounds rounds = step.rounds();
        if (!first && !step.contiguous() || !rounds.isOnce() && !rounds.contiguous()) {
            throw SiddhiClaims.skip("';' and '+' report all matches; a pattern takes the next event that fits", "pattern");
        }
        if (last && !rounds.isOnce()) {
            throw SiddhiClaims.skip("an iteration at the end: a sequence with one reports nothing", "counting-sequence");
        }
        Definition definition = single.definitions().get(0);
        List<String> filters = new ArrayList<>();
        filters.add(SiddhiRun.TYPE + " == " + Expressions.quoted(definition.type()));
        definition.conditions().forEach(predicate -> filters.add(expressions.of(predicate, variable -> "")));
        for (Constraint constraint : outline.constraints()) {
            if (chain.definitions().containsAll(constraint.definitions()) && constraint.last() == definition) {
                filters.add(correlated(constraint, definition));
            }
        }
        return new Step(definition.name(), filters, rounds.least(), rounds.most(), false);
    }

    private String correlated(Constraint constraint, Definition definition) {
        if (constraint.definitions().stream().anyMatch(Definition::isIterated)) {
            throw SiddhiClaims.skip("a correlated filter over all events of an iteration", "counting-sequence");
        }
        Iterator<Definition> mentioned = constraint.definitions().iterator();
        return expressions.of(constraint.predicate(), variable -> {
            Definition other = mentioned.next();
            return other == definition ? "" : other.name() + ".";
        });
    }
}
