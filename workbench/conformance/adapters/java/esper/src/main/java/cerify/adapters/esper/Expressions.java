package cerify.adapters.esper;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.AttributeType;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Predicates of CEL as expressions of EPL.
 *
 * <p>CEL's comparisons are true or false, where EPL's are null if a value is: only under "not" does that make a
 * difference, and there coalesce takes it away. A comparison of values of different kinds is false in CEL and does not
 * compile in EPL, so it is written as false.
 */
final class Expressions {

    private final EventType type;

    Expressions(EventType type) {
        this.type = type;
    }

    /** The expression; prefixes are what to write before the property of each mention, such as {@code T1.}. */
    String of(Predicate predicate, List<String> prefixes) {
        return text(predicate, prefixes.iterator(), false);
    }

    /** The test that an event has this CEL type. */
    static String hasType(String prefix, String celType) {
        return prefix + EventType.TYPE + " = " + quoted(celType);
    }

    private String text(Predicate predicate, Iterator<String> prefixes, boolean negated) {
        if (predicate instanceof Predicate.Not not) {
            return "not (" + text(not.inner(), prefixes, true) + ")";
        }
        if (predicate instanceof Predicate.And and) {
            String left = text(and.left(), prefixes, negated);
            return "(" + left + " and " + text(and.right(), prefixes, negated) + ")";
        }
        if (predicate instanceof Predicate.Or or) {
            String left = text(or.left(), prefixes, negated);
            return "(" + left + " or " + text(or.right(), prefixes, negated) + ")";
        }
        String comparison = comparison(predicate, prefixes);
        return negated && !comparison.equals("false") ? "coalesce(" + comparison + ", false)" : comparison;
    }

    private String comparison(Predicate predicate, Iterator<String> prefixes) {
        if (predicate instanceof Predicate.Comparison c) {
            Typed left = term(c.left(), prefixes);
            Typed right = term(c.right(), prefixes);
            return compared(left, c.comparator(), right);
        }
        if (predicate instanceof Predicate.InRange range) {
            Typed term = term(range.term(), prefixes);
            Typed low = constant(range.low());
            Typed high = constant(range.high());
            return "(" + compared(low, "<=", term) + " and " + compared(term, "<=", high) + ")";
        }
        if (predicate instanceof Predicate.OneOf one) {
            Typed term = term(one.term(), prefixes);
            return one.values().stream()
                    .map(value -> compared(term, "=", constant(value)))
                    .collect(Collectors.joining(" or ", "(", ")"));
        }
        Predicate.Like like = (Predicate.Like) predicate;
        Typed term = term(like.term(), prefixes);
        return term.type == AttributeType.STRING ? term.text + " regexp " + quoted(like.pattern()) : "false";
    }

    /** A term in EPL, and its type, which is null if it never has a value. */
    private record Typed(String text, AttributeType type) {}

    private static String compared(Typed left, String comparator, Typed right) {
        boolean ordered = !comparator.equals("=") && !comparator.equals("!=");
        if (left.type == null
                || right.type == null
                || !left.type.comparesWith(right.type)
                || ordered && left.type == AttributeType.BOOL) {
            return "false";
        }
        return left.text + " " + comparator + " " + right.text;
    }

    private Typed term(Term term, Iterator<String> prefixes) {
        if (term instanceof Term.Attribute attribute) {
            String prefix = prefixes.next();
            return new Typed(prefix + EventType.property(attribute.name()), type.typeOf(attribute.name()));
        }
        if (term instanceof Term.Arithmetic arithmetic) {
            Typed left = term(arithmetic.left(), prefixes);
            Typed right = term(arithmetic.right(), prefixes);
            return new Typed("(" + left.text + " " + arithmetic.operator() + " " + right.text + ")", result(
                    arithmetic.operator(), left.type, right.type));
        }
        return constant((Term.Constant) term);
    }

    private static AttributeType result(String operator, AttributeType left, AttributeType right) {
        if (left == null || right == null || !left.isNumber() || !right.isNumber()) {
            return null;
        }
        boolean whole = left == AttributeType.INT && right == AttributeType.INT && !operator.equals("/");
        return whole ? AttributeType.INT : AttributeType.FLOAT;
    }

    private static Typed constant(Term.Constant constant) {
        String text = switch (constant.type()) {
            case INT, TIMESTAMP -> constant.value() + "L";
            case FLOAT -> constant.value() + "d";
            case STRING -> quoted((String) constant.value());
            case BOOL -> constant.value().toString();
        };
        return new Typed(text, constant.type());
    }

    /** A string literal; all but plain ASCII letters, digits and a few signs is written as its code. */
    private static String quoted(String value) {
        StringBuilder text = new StringBuilder("'");
        for (char c : value.toCharArray()) {
            boolean plain = c >= ' ' && c < 127 && c != '\'' && c != '"' && c != '\\';
            text.append(plain ? String.valueOf(c) : String.format("\\u%04x", (int) c));
        }
        return text.append('\'').toString();
    }
}
