package cerify.adapters.cel;

import java.util.ArrayList;
import java.util.List;

/** What follows FILTER: atoms over the events that variables are bound to, under AND and OR. */
public sealed interface Condition {

    /** variable[predicate]: every event of the variable satisfies the predicate. */
    record Every(String variable, Predicate predicate) implements Condition {}

    /** A comparison of events of several mentions; each mention of a variable ranges over all its events. */
    record Correlated(Predicate predicate) implements Condition {}

    /** A user-defined predicate, by name. */
    record Named(String name, List<String> variables) implements Condition {}

    /** left AND right. */
    record Both(Condition left, Condition right) implements Condition {}

    /** left OR right. */
    record Either(Condition left, Condition right) implements Condition {}

    /** The alternatives of the disjunctive normal form, each a conjunction of atoms: the sugar of tods21, section 4. */
    default List<List<Condition>> alternatives() {
        List<List<Condition>> alternatives = new ArrayList<>();
        if (this instanceof Either either) {
            alternatives.addAll(either.left().alternatives());
            alternatives.addAll(either.right().alternatives());
        } else if (this instanceof Both both) {
            for (List<Condition> left : both.left().alternatives()) {
                for (List<Condition> right : both.right().alternatives()) {
                    List<Condition> joined = new ArrayList<>(left);
                    joined.addAll(right);
                    alternatives.add(joined);
                }
            }
        } else {
            alternatives.add(List.of(this));
        }
        return alternatives;
    }
}
