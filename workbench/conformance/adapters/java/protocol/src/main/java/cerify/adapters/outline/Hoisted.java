package cerify.adapters.outline;

import cerify.adapters.cel.Formula;
import java.util.ArrayList;
import java.util.List;

/**
 * A formula without the windows and partitions that stand outside of it, and these.
 *
 * <p>A window or a partition looks at the events of a match alone, and so does a filter: they may change places
 * (docs/decisions/windows.md). They stay where a projection is below them, for they look at what is still bound.
 */
public record Hoisted(Formula phi, List<Formula.Window> windows, List<String> keys) {

    /** The formula with its outermost windows and partitions apart. */
    public static Hoisted of(Formula phi) {
        List<Formula.Window> windows = new ArrayList<>();
        List<String> keys = new ArrayList<>();
        return new Hoisted(inner(phi, windows, keys), windows, keys);
    }

    private static Formula inner(Formula phi, List<Formula.Window> windows, List<String> keys) {
        if (phi.hasProjection()) {
            return phi;
        }
        if (phi instanceof Formula.Within within) {
            windows.add(within.window());
            return inner(within.phi(), windows, keys);
        }
        if (phi instanceof Formula.PartitionBy partition) {
            keys.add(partition.attribute());
            return inner(partition.phi(), windows, keys);
        }
        if (phi instanceof Formula.Filter filter) {
            return new Formula.Filter(inner(filter.phi(), windows, keys), filter.condition());
        }
        if (phi instanceof Formula.In in) {
            return new Formula.In(inner(in.phi(), windows, keys), in.variable());
        }
        if (phi instanceof Formula.Selection selection && selection.strategy() == Formula.Strategy.STRICT) {
            return new Formula.Selection(Formula.Strategy.STRICT, inner(selection.phi(), windows, keys));
        }
        return phi;
    }
}
