package cerify.adapters.outline;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.Problem;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The outline of a formula: its shape, its definitions, and its filters moved to them (tods21, Figure 3).
 *
 * <p>A filter applies to what a variable is bound to in the formula on its left. A unary one is a condition on each
 * single event, so it moves to the definitions that the variable binds there; a correlated one becomes a constraint on
 * them. OR in a filter is OR of two filtered formulas (section 4), with definitions of their own. STRICT makes every
 * step inside it contiguous, which is its meaning where all events of the formula show.
 */
public final class Binder {

    private static final int MOST_DEFINITIONS = 256;

    private final Claims claims;
    private final List<Constraint> constraints = new ArrayList<>();
    private int definitions;

    private Binder(Claims claims) {
        this.claims = claims;
    }

    /** Where in the formula the traversal is. */
    private record Place(boolean strict, boolean iterated, boolean optional) {}

    /** The outline of a subformula. */
    private record Part(Shape shape, Map<String, Set<Definition>> variables) {}

    /** The outline of the formula; throws the Skip of the claims where an operator is not claimed. */
    public static Outline outline(Formula phi, Claims claims) {
        Binder binder = new Binder(claims);
        Part part = binder.part(phi, new Place(false, false, false));
        List<Constraint> constraints = binder.constraints.stream()
                .filter(constraint -> part.shape.bindsTogether(constraint.definitions()))
                .toList();
        return new Outline(part.shape, part.variables, constraints);
    }

    private Part part(Formula phi, Place place) {
        if (phi instanceof Formula.OfType event) {
            Definition definition = define(event.type(), place);
            Map<String, Set<Definition>> variables = new TreeMap<>();
            variables.put(event.type(), new LinkedHashSet<>(List.of(definition)));
            return new Part(new Shape.One(definition), variables);
        }
        if (phi instanceof Formula.In in) {
            Part part = part(in.phi(), place);
            part.variables.put(in.variable(), support(part));
            return part;
        }
        if (phi instanceof Formula.Filter filter) {
            return filtered(filter, place);
        }
        if (phi instanceof Formula.Sequence sequence) {
            boolean contiguous = sequence.contiguous() || place.strict;
            requireNoProjection(phi, contiguous);
            Part left = part(sequence.left(), place);
            Part right = part(sequence.right(), place);
            return new Part(new Shape.Then(left.shape, right.shape, contiguous), union(left, right));
        }
        if (phi instanceof Formula.Iteration iteration) {
            boolean contiguous = iteration.contiguous() || place.strict;
            requireNoProjection(phi, contiguous);
            Part part = part(iteration.phi(), new Place(place.strict, true, place.optional));
            Shape shape = new Shape.Repeat(part.shape, iteration.least(), iteration.most(), contiguous);
            return new Part(shape, part.variables);
        }
        if (phi instanceof Formula.Or or) {
            Place branch = new Place(place.strict, place.iterated, true);
            return choice(List.of(part(or.left(), branch), part(or.right(), branch)));
        }
        if (phi instanceof Formula.Project project) {
            Part part = part(project.phi(), place);
            part.variables.keySet().retainAll(project.variables());
            return part;
        }
        if (phi instanceof Formula.Selection selection && selection.strategy() == Formula.Strategy.STRICT) {
            requireNoProjection(phi, true);
            return part(selection.phi(), new Place(true, place.iterated, place.optional));
        }
        throw claims.operator(phi);
    }

    private Definition define(String type, Place place) {
        if (++definitions > MOST_DEFINITIONS) {
            String message = "the query has more than " + MOST_DEFINITIONS + " occurrences of event types";
            throw new Problem(Problem.Code.BUDGET, message);
        }
        return new Definition(definitions, type, place.iterated, place.optional);
    }

    private Part filtered(Formula.Filter filter, Place place) {
        List<List<Condition>> alternatives = filter.condition().alternatives();
        if (alternatives.size() == 1) {
            return filtered(filter.phi(), alternatives.get(0), place);
        }
        Place branch = new Place(place.strict, place.iterated, true);
        List<Part> branches = new ArrayList<>();
        for (List<Condition> atoms : alternatives) {
            branches.add(filtered(filter.phi(), atoms, branch));
        }
        return choice(branches);
    }

    private Part filtered(Formula phi, List<Condition> atoms, Place place) {
        Part part = part(phi, place);
        for (Condition atom : atoms) {
            if (atom instanceof Condition.Every every) {
                bound(part, every.variable()).forEach(definition -> definition.require(every.predicate()));
            } else if (atom instanceof Condition.Correlated correlated) {
                if (place.iterated) {
                    throw claims.correlationInIteration();
                }
                constrain(correlated.predicate(), part);
            } else {
                throw claims.predicate((Condition.Named) atom);
            }
        }
        return part;
    }

    /** One constraint for each choice of a definition for each mention. */
    private void constrain(Predicate predicate, Part part) {
        List<List<Definition>> choices = List.of(List.of());
        for (Term.Attribute mention : predicate.mentions()) {
            List<List<Definition>> longer = new ArrayList<>();
            for (List<Definition> choice : choices) {
                for (Definition definition : bound(part, mention.variable())) {
                    List<Definition> extended = new ArrayList<>(choice);
                    extended.add(definition);
                    longer.add(extended);
                }
            }
            choices = longer;
        }
        choices.forEach(choice -> constraints.add(new Constraint(predicate, choice)));
    }

    private static Set<Definition> bound(Part part, String variable) {
        return part.variables.getOrDefault(variable, Set.of());
    }

    private static Set<Definition> support(Part part) {
        Set<Definition> all = new LinkedHashSet<>();
        part.variables.values().forEach(all::addAll);
        return all;
    }

    private static Part choice(List<Part> parts) {
        Map<String, Set<Definition>> variables = new TreeMap<>();
        for (Part part : parts) {
            part.variables.forEach((v, ds) -> variables.computeIfAbsent(v, x -> new LinkedHashSet<>()).addAll(ds));
        }
        return new Part(new Shape.Choice(parts.stream().map(Part::shape).toList()), variables);
    }

    private static Map<String, Set<Definition>> union(Part left, Part right) {
        return choice(List.of(left, right)).variables;
    }

    private void requireNoProjection(Formula phi, boolean contiguous) {
        if (contiguous && phi.hasProjection()) {
            throw claims.contiguityOfProjection();
        }
    }
}
