package cerify.adapters.meaning;

import cerify.adapters.cel.Condition;
import cerify.adapters.cel.Formula;
import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.Term;
import cerify.adapters.cel.Truth;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Run;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The matches of a formula by the definition (tods21, Figure 3), to test adapters without an engine, on short streams.
 *
 * <p>A valuation maps variables to the positions of their events. START, AND, ALL, UNLESS, NXT, LAST and MAX are not
 * here.
 */
public final class Meaning {

    private final List<Event> stream;
    private final Truth truth;

    private Meaning(Run run) {
        stream = run.events();
        truth = new Truth(run.schema());
    }

    /** The matches of the formula over the events of the run. */
    public static SortedSet<Match> of(Formula phi, Run run) {
        Meaning meaning = new Meaning(run);
        SortedSet<Match> matches = new TreeSet<>();
        for (int n = 0; n < run.events().size(); n++) {
            for (SortedMap<String, SortedSet<Integer>> valuation : meaning.of(phi, 0, n)) {
                matches.add(new Match(n, support(valuation), valuation).reported(run.valuations()));
            }
        }
        return matches;
    }

    /** The valuations of the formula from position i to position j. */
    private Set<SortedMap<String, SortedSet<Integer>>> of(Formula phi, int i, int j) {
        Set<SortedMap<String, SortedSet<Integer>>> found = new HashSet<>();
        if (phi instanceof Formula.OfType event) {
            if (stream.get(j).type().equals(event.type())) {
                found.add(new TreeMap<>(Map.of(event.type(), new TreeSet<>(Set.of(j)))));
            }
        } else if (phi instanceof Formula.In in) {
            for (SortedMap<String, SortedSet<Integer>> valuation : of(in.phi(), i, j)) {
                SortedMap<String, SortedSet<Integer>> bound = new TreeMap<>(valuation);
                bound.put(in.variable(), support(valuation));
                found.add(bound);
            }
        } else if (phi instanceof Formula.Filter filter) {
            found.addAll(of(filter.phi(), i, j));
            found.removeIf(valuation -> !satisfies(valuation, filter.condition()));
        } else if (phi instanceof Formula.Sequence sequence) {
            join(sequence.left(), sequence.right(), sequence.contiguous(), i, j, found);
        } else if (phi instanceof Formula.Iteration iteration) {
            iterate(iteration, i, j, found);
        } else if (phi instanceof Formula.Project project) {
            for (SortedMap<String, SortedSet<Integer>> valuation : of(project.phi(), i, j)) {
                SortedMap<String, SortedSet<Integer>> projected = new TreeMap<>(valuation);
                projected.keySet().retainAll(project.variables());
                found.add(projected);
            }
        } else if (phi instanceof Formula.Or or) {
            found.addAll(of(or.left(), i, j));
            found.addAll(of(or.right(), i, j));
        } else if (phi instanceof Formula.Selection selection && selection.strategy() == Formula.Strategy.STRICT) {
            found.addAll(of(selection.phi(), i, j));
            found.removeIf(valuation -> !isInterval(support(valuation)));
        } else if (phi instanceof Formula.Within within) {
            found.addAll(of(within.phi(), i, j));
            found.removeIf(valuation -> !isWithin(support(valuation), within.window()));
        } else if (phi instanceof Formula.PartitionBy partition) {
            found.addAll(of(partition.phi(), i, j));
            found.removeIf(valuation -> !agrees(support(valuation), partition.attribute()));
        } else {
            throw new IllegalArgumentException("not in this fragment: " + phi);
        }
        return found;
    }

    private void join(
            Formula left,
            Formula right,
            boolean contiguous,
            int i,
            int j,
            Set<SortedMap<String, SortedSet<Integer>>> found) {
        for (int k = i; k < j; k++) {
            for (SortedMap<String, SortedSet<Integer>> first : of(left, i, k)) {
                for (SortedMap<String, SortedSet<Integer>> second : of(right, k + 1, j)) {
                    boolean neighbours = support(first).last() == k && support(second).first() == k + 1;
                    if (!contiguous || neighbours) {
                        found.add(union(first, second));
                    }
                }
            }
        }
    }

    private void iterate(
            Formula.Iteration iteration, int i, int j, Set<SortedMap<String, SortedSet<Integer>>> found) {
        int most = iteration.most() == 0 ? j - i + 1 : Math.min(iteration.most(), j - i + 1);
        Formula rounds = iteration.phi();
        for (int n = 1; n <= most; n++) {
            if (n >= iteration.least()) {
                found.addAll(of(rounds, i, j));
            }
            rounds = new Formula.Sequence(iteration.phi(), rounds, iteration.contiguous());
        }
    }

    private boolean satisfies(SortedMap<String, SortedSet<Integer>> valuation, Condition condition) {
        if (condition instanceof Condition.Both both) {
            return satisfies(valuation, both.left()) && satisfies(valuation, both.right());
        }
        if (condition instanceof Condition.Either either) {
            return satisfies(valuation, either.left()) || satisfies(valuation, either.right());
        }
        if (condition instanceof Condition.Every every) {
            return bound(valuation, every.variable()).stream()
                    .allMatch(position -> truth.of(every.predicate(), stream.get(position)));
        }
        return correlated(valuation, ((Condition.Correlated) condition).predicate(), new ArrayList<>());
    }

    private boolean correlated(
            SortedMap<String, SortedSet<Integer>> valuation, Predicate predicate, List<Event> chosen) {
        List<Term.Attribute> mentions = predicate.mentions();
        if (chosen.size() == mentions.size()) {
            return truth.of(predicate, chosen);
        }
        for (int position : bound(valuation, mentions.get(chosen.size()).variable())) {
            List<Event> longer = new ArrayList<>(chosen);
            longer.add(stream.get(position));
            if (!correlated(valuation, predicate, longer)) {
                return false;
            }
        }
        return true;
    }

    private boolean isWithin(SortedSet<Integer> support, Formula.Window window) {
        if (support.isEmpty()) {
            return false;
        }
        if (window.measure() == Formula.Window.Measure.EVENTS) {
            return support.last() - support.first() < window.width();
        }
        boolean time = window.measure() == Formula.Window.Measure.TIME;
        double least = Double.POSITIVE_INFINITY;
        double greatest = Double.NEGATIVE_INFINITY;
        for (int position : support) {
            Object value = stream.get(position).attributes().get(time ? "time" : window.name());
            if (!(value instanceof Number number)) {
                return false;
            }
            least = Math.min(least, number.doubleValue());
            greatest = Math.max(greatest, number.doubleValue());
        }
        return greatest - least <= (time ? window.seconds() : window.width());
    }

    private boolean agrees(SortedSet<Integer> support, String attribute) {
        Set<Object> keys = new HashSet<>();
        for (int position : support) {
            keys.add(stream.get(position).attributes().get(attribute));
        }
        return keys.size() <= 1 && !keys.contains(null);
    }

    private static boolean isInterval(SortedSet<Integer> support) {
        return support.isEmpty() || support.last() - support.first() + 1 == support.size();
    }

    private static Set<Integer> bound(SortedMap<String, SortedSet<Integer>> valuation, String variable) {
        return valuation.getOrDefault(variable, new TreeSet<>());
    }

    private static SortedSet<Integer> support(SortedMap<String, SortedSet<Integer>> valuation) {
        SortedSet<Integer> all = new TreeSet<>();
        valuation.values().forEach(all::addAll);
        return all;
    }

    private static SortedMap<String, SortedSet<Integer>> union(
            SortedMap<String, SortedSet<Integer>> left, SortedMap<String, SortedSet<Integer>> right) {
        SortedMap<String, SortedSet<Integer>> both = new TreeMap<>(left);
        right.forEach((variable, positions) -> {
            SortedSet<Integer> merged = new TreeSet<>(positions);
            merged.addAll(both.getOrDefault(variable, new TreeSet<>()));
            both.put(variable, merged);
        });
        return both;
    }
}
