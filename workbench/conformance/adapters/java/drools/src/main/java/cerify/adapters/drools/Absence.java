package cerify.adapters.drools;

import cerify.adapters.cel.Formula;
import java.util.List;

/**
 * The event of a formula that is not between two others: how many events stand before the left side of UNLESS, and up to
 * its end.
 */
record Absence(Formula absent, int after, int until) {

    /** The formula without UNLESS on the way to its events; adds the absences, where before counts the events before. */
    static Formula taken(Formula phi, int before, List<Absence> absences) {
        if (phi instanceof Formula.Combination combination && combination.combiner() == Formula.Combiner.UNLESS) {
            Formula left = taken(combination.left(), before, absences);
            absences.add(new Absence(combination.right(), before, before + events(left)));
            return left;
        }
        if (phi instanceof Formula.Sequence sequence) {
            Formula left = taken(sequence.left(), before, absences);
            Formula right = taken(sequence.right(), before + events(left), absences);
            return new Formula.Sequence(left, right, sequence.contiguous());
        }
        if (phi instanceof Formula.In in) {
            return new Formula.In(taken(in.phi(), before, absences), in.variable());
        }
        if (phi instanceof Formula.Filter filter) {
            return new Formula.Filter(taken(filter.phi(), before, absences), filter.condition());
        }
        if (phi instanceof Formula.Within within) {
            return new Formula.Within(taken(within.phi(), before, absences), within.window());
        }
        if (phi instanceof Formula.PartitionBy partition) {
            return new Formula.PartitionBy(taken(partition.phi(), before, absences), partition.attribute());
        }
        return phi;
    }

    private static int events(Formula phi) {
        return phi instanceof Formula.OfType ? 1 : phi.operands().stream().mapToInt(Absence::events).sum();
    }
}
