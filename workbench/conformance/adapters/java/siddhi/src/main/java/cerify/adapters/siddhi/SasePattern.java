package cerify.adapters.siddhi;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.SaseQuery;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.Schema;
import java.util.ArrayList;
import java.util.List;

/**
 * A query of SASE+ as a pattern of SiddhiQL, or as a sequence under strict contiguity.
 *
 * <p>A Kleene plus is claimed with a forced break only: a count of Siddhi ends at the first event of the next step.
 */
final class SasePattern {

    private final SaseQuery query;
    private final Expressions expressions;

    SasePattern(SaseQuery query, Schema schema) {
        this.query = query;
        this.expressions = new Expressions(schema);
    }

    /** What stands between two steps. */
    String connective() {
        return query.strategy().equals("strict_contiguity") ? "," : "->";
    }

    /** The window clause, or nothing. */
    String window() {
        return query.window()
                .map(seconds -> " within " + (long) (seconds * 1_000) + " milliseconds")
                .orElse("");
    }

    /** The steps; throws a Skip where SiddhiQL has no words for one. */
    List<Step> steps() {
        boolean strict = query.strategy().equals("strict_contiguity");
        if (!strict && !query.strategy().equals("skip_till_next_match")) {
            throw SiddhiClaims.skip(query.strategy() + ": a pattern takes the next event that fits", "pattern");
        }
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < query.components().size(); i++) {
            SaseQuery.Component component = query.components().get(i);
            if (component.negated()) {
                boolean inside = i > 0 && i + 1 < query.components().size();
                if (!inside || strict || component.kleene() || query.components().get(i + 1).negated()
                        || query.components().get(i + 1).kleene() || !query.equivalences().isEmpty()
                        || query.components().get(i + 1).type().equals(component.type())) {
                    throw SiddhiClaims.skip(
                            "negation but of one event before a step of one event of another type",
                            "detecting-non-occurring-events");
                }
            }
            if (component.kleene() && !query.cut().contains(component.variable())) {
                throw SiddhiClaims.skip("a Kleene plus without a forced break: a count ends at the next step", "counting-pattern");
            }
            steps.add(new Step(
                    component.variable(), filters(i), 1, component.kleene() ? 0 : 1, component.negated()));
        }
        return steps;
    }

    private List<String> filters(int i) {
        SaseQuery.Component component = query.components().get(i);
        List<String> filters = new ArrayList<>();
        filters.add(SiddhiRun.TYPE + " == " + Expressions.quoted(component.type()));
        for (Predicate condition : query.conditions()) {
            if (last(condition) == i) {
                filters.add(filter(condition, component));
            }
        }
        for (String attribute : query.equivalences()) {
            Term.Attribute here = new Term.Attribute(component.variable() + "[i]", attribute);
            Term.Attribute first = new Term.Attribute(query.components().get(0).variable() + "[1]", attribute);
            Predicate same = new Predicate.Comparison("=", here, first);
            if (i > 0) {
                filters.add(filter(same, component));
            } else if (component.kleene()) {
                throw SiddhiClaims.skip("an equivalence test of a Kleene plus in front", "counting-pattern");
            }
        }
        return filters;
    }

    private int last(Predicate condition) {
        int last = 0;
        for (Term.Attribute mention : condition.mentions()) {
            String variable = SaseQuery.variable(mention.variable());
            for (int i = 0; i < query.components().size(); i++) {
                if (query.components().get(i).variable().equals(variable)) {
                    last = Math.max(last, i);
                }
            }
        }
        for (Term.Attribute mention : condition.mentions()) {
            String variable = SaseQuery.variable(mention.variable());
            boolean negated = query.components().stream()
                    .anyMatch(component -> component.negated() && component.variable().equals(variable));
            if (negated && !query.components().get(last).variable().equals(variable)) {
                throw SiddhiClaims.skip("a condition on a negated event and a later one", "detecting-non-occurring-events");
            }
        }
        return last;
    }

    private String filter(Predicate condition, SaseQuery.Component component) {
        String own = component.variable();
        boolean previous = condition.mentions().stream().anyMatch(m -> m.variable().equals(own + "[i-1]"));
        String test = expressions.of(condition, mention -> prefix(mention, own));
        return previous ? "(" + own + "[last]." + SiddhiRun.POSITION + " is null or " + test + ")" : test;
    }

    private String prefix(String mention, String own) {
        String variable = SaseQuery.variable(mention);
        String place = mention.substring(variable.length());
        if (variable.equals(own)) {
            return switch (place) {
                case "", "[i]" -> "";
                case "[i-1]" -> own + "[last].";
                default -> throw SiddhiClaims.skip("a condition on the first or last event of a count itself", "counting-pattern");
            };
        }
        boolean kleene = query.components().stream().anyMatch(c -> c.variable().equals(variable) && c.kleene());
        return switch (place) {
            case "" -> variable + ".";
            case "[1]" -> kleene ? variable + "[0]." : variable + ".";
            case "[LEN]" -> variable + "[last].";
            default -> throw SiddhiClaims.skip("a condition on every event of an earlier count", "counting-pattern");
        };
    }
}
