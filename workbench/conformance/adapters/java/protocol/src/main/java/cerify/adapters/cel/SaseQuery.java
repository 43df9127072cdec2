package cerify.adapters.cel;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A query block of SASE+ (sase07, sections 2.1 and 2.2): the fragment without aggregates, HAVING, UNION and composition.
 *
 * @param strategy one strategy for all components
 * @param cut the variables with a forced break, {@code b[]!}
 * @param conditions predicates whose attributes have a variable with its place: {@code a}, {@code b[1]}, {@code b[i]},
 *     {@code b[i-1]} or {@code b[LEN]}
 * @param equivalences the attributes on which all events of a match agree
 * @param window the seconds of WITHIN
 * @param result the constants of RETURN, by their names; empty where RETURN is left out, as it may be of a query that
 *     is asked for its matches alone, and null where it begins with something else
 */
public record SaseQuery(
        List<Component> components,
        String strategy,
        Set<String> cut,
        List<Predicate> conditions,
        List<String> equivalences,
        Optional<Double> window,
        Map<String, Object> result) {

    /** A component of the pattern. */
    public record Component(String type, String variable, boolean kleene, boolean negated) {}

    /** The variable of a mention, without its place. */
    public static String variable(String mention) {
        int bracket = mention.indexOf('[');
        return bracket < 0 ? mention : mention.substring(0, bracket);
    }
}
