package cerify.adapters.cel;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** What can be asked of one event or, where attributes name their variables, of one event for each mention. */
public sealed interface Predicate extends Serializable {

    /** Two terms compared by one of {@code < <= > >= = !=}. */
    record Comparison(String comparator, Term left, Term right) implements Predicate {}

    /** term in {values}. */
    record OneOf(Term term, List<Term.Constant> values) implements Predicate {}

    /** term in range(low, high), both ends included. */
    record InRange(Term term, Term.Constant low, Term.Constant high) implements Predicate {}

    /** term like 'pattern': the pattern matches the whole string. */
    record Like(Term term, String pattern) implements Predicate {}

    /** not inner. */
    record Not(Predicate inner) implements Predicate {}

    /** left and right. */
    record And(Predicate left, Predicate right) implements Predicate {}

    /** left or right. */
    record Or(Predicate left, Predicate right) implements Predicate {}

    /** The attributes that are mentioned, left to right, with repetitions. */
    default List<Term.Attribute> mentions() {
        List<Term.Attribute> found = new ArrayList<>();
        if (this instanceof Comparison c) {
            found.addAll(c.left().mentions());
            found.addAll(c.right().mentions());
        } else if (this instanceof OneOf one) {
            found.addAll(one.term().mentions());
        } else if (this instanceof InRange range) {
            found.addAll(range.term().mentions());
        } else if (this instanceof Like like) {
            found.addAll(like.term().mentions());
        } else if (this instanceof Not not) {
            found.addAll(not.inner().mentions());
        } else if (this instanceof And and) {
            found.addAll(and.left().mentions());
            found.addAll(and.right().mentions());
        } else if (this instanceof Or or) {
            found.addAll(or.left().mentions());
            found.addAll(or.right().mentions());
        }
        return found;
    }
}
