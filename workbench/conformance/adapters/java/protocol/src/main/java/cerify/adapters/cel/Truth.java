package cerify.adapters.cel;

import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Schema;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The truth value of a predicate on events, for engines whose conditions are code (docs/guide/predicates.md).
 *
 * <p>A comparison is false where a term has no value, or where the values are of different kinds. Integers are exact;
 * arithmetic with a float, and every division, is that of binary64, and a division by zero has no value. Strings are
 * ordered by code point, and {@code like} matches the whole string.
 */
public final class Truth implements Serializable {

    private static final long serialVersionUID = 1L;

    private final Schema schema;

    /** A point in time, which compares with others alone. */
    private record Moment(Object microseconds) {}

    /** Truth values over events of the schema, which says which attributes are timestamps. */
    public Truth(Schema schema) {
        this.schema = schema;
    }

    /** Whether the predicate is true of the event, to which all its mentions refer. */
    public boolean of(Predicate predicate, Event event) {
        return of(predicate, Collections.nCopies(predicate.mentions().size(), event));
    }

    /** Whether the predicate is true when its mentions, left to right, refer to these events. */
    public boolean of(Predicate predicate, List<Event> events) {
        return truth(predicate, events.iterator());
    }

    private boolean truth(Predicate predicate, Iterator<Event> events) {
        if (predicate instanceof Predicate.Not not) {
            return !truth(not.inner(), events);
        }
        if (predicate instanceof Predicate.And and) {
            boolean left = truth(and.left(), events);
            return truth(and.right(), events) && left; // both sides take their events
        }
        if (predicate instanceof Predicate.Or or) {
            boolean left = truth(or.left(), events);
            return truth(or.right(), events) || left;
        }
        if (predicate instanceof Predicate.Comparison c) {
            Object left = value(c.left(), events);
            return compare(c.comparator(), left, value(c.right(), events));
        }
        if (predicate instanceof Predicate.OneOf one) {
            Object value = value(one.term(), events);
            return one.values().stream().anyMatch(each -> compare("=", value, constant(each)));
        }
        if (predicate instanceof Predicate.InRange range) {
            Object value = value(range.term(), events);
            return compare("<=", constant(range.low()), value) && compare("<=", value, constant(range.high()));
        }
        Predicate.Like like = (Predicate.Like) predicate;
        return value(like.term(), events) instanceof String text && Pattern.matches(like.pattern(), text);
    }

    private Object value(Term term, Iterator<Event> events) {
        if (term instanceof Term.Attribute attribute) {
            Object value = events.next().attributes().get(attribute.name());
            boolean moment = value != null && schema.attributes().get(attribute.name()) == AttributeType.TIMESTAMP;
            return moment ? new Moment(value) : whole(value);
        }
        if (term instanceof Term.Constant constant) {
            return constant(constant);
        }
        Term.Arithmetic arithmetic = (Term.Arithmetic) term;
        Object left = value(arithmetic.left(), events);
        Object right = value(arithmetic.right(), events);
        return left instanceof Number a && right instanceof Number b ? result(arithmetic.operator(), a, b) : null;
    }

    private static Object constant(Term.Constant constant) {
        return constant.type() == AttributeType.TIMESTAMP ? new Moment(constant.value()) : whole(constant.value());
    }

    /** The value, an integer as a BigInteger. */
    private static Object whole(Object value) {
        return value instanceof Long number ? BigInteger.valueOf(number) : value;
    }

    private static Object result(String operator, Number a, Number b) {
        if (a instanceof BigInteger m && b instanceof BigInteger n && !operator.equals("/")) {
            return switch (operator) {
                case "+" -> m.add(n);
                case "-" -> m.subtract(n);
                default -> m.multiply(n);
            };
        }
        double x = a.doubleValue();
        double y = b.doubleValue();
        return switch (operator) {
            case "+" -> x + y;
            case "-" -> x - y;
            case "*" -> x * y;
            default -> y == 0 ? null : (Object) (x / y);
        };
    }

    private static boolean compare(String comparator, Object left, Object right) {
        if (left instanceof Number a && right instanceof Number b) {
            if (isNaN(a) || isNaN(b)) {
                return comparator.equals("!=");
            }
            return holds(comparator, order(a, b));
        }
        if (left instanceof Moment a && right instanceof Moment b) {
            return holds(comparator, Long.compare((Long) a.microseconds, (Long) b.microseconds));
        }
        if (left instanceof String a && right instanceof String b) {
            return holds(comparator, Arrays.compare(a.codePoints().toArray(), b.codePoints().toArray()));
        }
        if (left instanceof Boolean a && right instanceof Boolean b) {
            return comparator.equals("=") && a.equals(b) || comparator.equals("!=") && !a.equals(b);
        }
        return false;
    }

    private static boolean isNaN(Number number) {
        return number instanceof Double value && value.isNaN();
    }

    private static int order(Number a, Number b) {
        if (a instanceof Double x && x.isInfinite() || b instanceof Double y && y.isInfinite()) {
            return Double.compare(a.doubleValue(), b.doubleValue());
        }
        return exact(a).compareTo(exact(b));
    }

    private static BigDecimal exact(Number number) {
        return number instanceof Double value ? new BigDecimal(value) : new BigDecimal((BigInteger) number);
    }

    private static boolean holds(String comparator, int order) {
        return switch (comparator) {
            case "<" -> order < 0;
            case "<=" -> order <= 0;
            case ">" -> order > 0;
            case ">=" -> order >= 0;
            case "=" -> order == 0;
            default -> order != 0;
        };
    }
}
