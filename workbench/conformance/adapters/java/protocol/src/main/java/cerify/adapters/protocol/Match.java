package cerify.adapters.protocol;

import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;

/**
 * A complex event, the position after whose event it was reported, what each variable is bound to, or null, and the value
 * of RETURN, or null.
 */
public record Match(
        int at, SortedSet<Integer> events, SortedMap<String, SortedSet<Integer>> bindings, Map<String, Object> result)
        implements Comparable<Match> {

    /** A match without a value of RETURN. */
    public Match(int at, SortedSet<Integer> events, SortedMap<String, SortedSet<Integer>> bindings) {
        this(at, events, bindings, null);
    }

    private static final Comparator<Iterable<Integer>> LEXICOGRAPHIC = Match::compare;
    private static final Comparator<Match> ORDER = Comparator.comparingInt(Match::at)
            .thenComparing(Match::events, LEXICOGRAPHIC)
            .thenComparing(match -> String.valueOf(match.bindings()))
            .thenComparing(match -> String.valueOf(match.result()));

    @Override
    public int compareTo(Match other) {
        return ORDER.compare(this, other);
    }

    /** The same match as the harness gets it: without bindings if it did not ask for them. */
    public Match reported(boolean valuations) {
        return valuations ? this : new Match(at, events, null, result);
    }

    private static int compare(Iterable<Integer> left, Iterable<Integer> right) {
        Iterator<Integer> a = left.iterator();
        Iterator<Integer> b = right.iterator();
        while (a.hasNext() && b.hasNext()) {
            int order = Integer.compare(a.next(), b.next());
            if (order != 0) {
                return order;
            }
        }
        return Boolean.compare(a.hasNext(), b.hasNext());
    }
}
