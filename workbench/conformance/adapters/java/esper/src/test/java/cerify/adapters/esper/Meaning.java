package cerify.adapters.esper;

import cerify.adapters.cel.Formula;
import java.util.HashSet;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/** The complex events of a formula without filters, for tests: tods21, Figure 3, with supports instead of valuations. */
final class Meaning {

    private final String[] stream;

    Meaning(String[] stream) {
        this.stream = stream;
    }

    /** The matches of all positions, written as {@link Runs} writes them. */
    String of(Formula phi) {
        Set<String> texts = new TreeSet<>();
        for (int n = 0; n < stream.length; n++) {
            for (SortedSet<Integer> events : of(phi, 0, n)) {
                texts.add(n + ":" + events);
            }
        }
        return String.join(" ", texts);
    }

    private Set<SortedSet<Integer>> of(Formula phi, int i, int j) {
        Set<SortedSet<Integer>> found = new HashSet<>();
        if (phi instanceof Formula.OfType event) {
            if (stream[j].equals(event.type())) {
                found.add(new TreeSet<>(Set.of(j)));
            }
        } else if (phi instanceof Formula.Or or) {
            found.addAll(of(or.left(), i, j));
            found.addAll(of(or.right(), i, j));
        } else if (phi instanceof Formula.Sequence sequence) {
            join(sequence.left(), sequence.right(), sequence.contiguous(), i, j, found);
        } else if (phi instanceof Formula.Iteration iteration) {
            found.addAll(of(iteration.phi(), i, j));
            join(iteration.phi(), phi, iteration.contiguous(), i, j, found);
        } else {
            throw new IllegalArgumentException("not in this fragment: " + phi);
        }
        return found;
    }

    private void join(Formula left, Formula right, boolean contiguous, int i, int j, Set<SortedSet<Integer>> found) {
        for (int k = i; k < j; k++) {
            for (SortedSet<Integer> first : of(left, i, k)) {
                for (SortedSet<Integer> second : of(right, k + 1, j)) {
                    if (!contiguous || first.last() == k && second.first() == k + 1) {
                        SortedSet<Integer> both = new TreeSet<>(first);
                        both.addAll(second);
                        found.add(both);
                    }
                }
            }
        }
    }
}
