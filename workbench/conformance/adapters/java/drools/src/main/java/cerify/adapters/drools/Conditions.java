package cerify.adapters.drools;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Schema;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Predicates as constraints of a pattern; a comparison that has an absent value, or values of two kinds, is false. */
record Conditions(Schema schema) {

    private static final String FALSE = "position < 0";

    private record Typed(String text, AttributeType type) {}

    /** The name of an attribute or an event type in Drools. */
    static String identifier(String prefix, String name) {
        StringBuilder text = new StringBuilder(prefix);
        name.codePoints().forEach(c -> text.append(
                c < 128 && Character.isLetterOrDigit(c) ? Character.toString(c) : "_" + Integer.toHexString(c) + "_"));
        return text.toString();
    }

    /** The constraint; events has, for each mention from left to right, such as {@code $A_1.}, or nothing for the pattern's own. */
    String of(Predicate predicate, Iterator<String> events) {
        if (predicate instanceof Predicate.Not not) {
            return "!(" + of(not.inner(), events) + ")";
        }
        if (predicate instanceof Predicate.And and) {
            return "(" + of(and.left(), events) + " && " + of(and.right(), events) + ")";
        }
        if (predicate instanceof Predicate.Or or) {
            return "(" + of(or.left(), events) + " || " + of(or.right(), events) + ")";
        }
        List<String> present = new ArrayList<>();
        if (predicate instanceof Predicate.Comparison c) {
            Typed left = term(c.left(), events, present);
            return guarded(present, compared(left, c.comparator(), term(c.right(), events, present)));
        }
        if (predicate instanceof Predicate.InRange range) {
            Typed term = term(range.term(), events, present);
            Stream<String> ends = Stream.of(
                    compared(term, ">=", constant(range.low())), compared(term, "<=", constant(range.high())));
            return guarded(present, ends.collect(Collectors.joining(" && ")));
        }
        if (predicate instanceof Predicate.OneOf one) {
            Typed term = term(one.term(), events, present);
            Stream<String> values = one.values().stream().map(value -> compared(term, "=", constant(value)));
            return guarded(present, Stream.concat(Stream.of(FALSE), values).collect(Collectors.joining(" || ", "(", ")")));
        }
        Predicate.Like like = (Predicate.Like) predicate;
        Typed term = term(like.term(), events, present);
        return term.type == AttributeType.STRING
                ? guarded(present, term.text + " matches " + quoted(like.pattern()))
                : FALSE;
    }

    /** The type of the attribute; null if no event has it. Throws a Skip if it has several. */
    AttributeType type(String attribute) {
        if (schema.mixed().contains(attribute)) {
            throw DroolsClaims.skip("the events have values of several types for " + attribute);
        }
        return schema.attributes().get(attribute);
    }

    private static String guarded(List<String> present, String condition) {
        String guards = present.stream().distinct().map(name -> name + " != null && ").collect(Collectors.joining());
        return "(" + guards + condition + ")";
    }

    private static String compared(Typed left, String comparator, Typed right) {
        boolean ordered = !comparator.equals("=") && !comparator.equals("!=");
        if (left.type == null || right.type == null || !left.type.comparesWith(right.type)
                || ordered && left.type == AttributeType.BOOL) {
            return FALSE;
        }
        return left.text + " " + (comparator.equals("=") ? "==" : comparator) + " " + right.text;
    }

    private Typed term(Term term, Iterator<String> events, List<String> present) {
        if (term instanceof Term.Attribute attribute) {
            String name = events.next() + identifier("a_", attribute.name());
            AttributeType type = type(attribute.name());
            if (type != null) {
                present.add(name);
            }
            return new Typed(name, type);
        }
        if (term instanceof Term.Arithmetic) {
            throw DroolsClaims.skip("arithmetic is that of Java, where integers wrap");
        }
        return constant((Term.Constant) term);
    }

    private static Typed constant(Term.Constant constant) {
        String text = switch (constant.type()) {
            case INT, TIMESTAMP -> constant.value() + "L";
            case FLOAT -> new BigDecimal((Double) constant.value()).toPlainString() + "d";
            case STRING -> quoted((String) constant.value());
            case BOOL -> constant.value().toString();
        };
        return new Typed(text, constant.type());
    }

    private static String quoted(String value) {
        if (value.contains("\"") || value.contains("\\") || value.chars().anyMatch(c -> c < ' ' || c > '~')) {
            throw DroolsClaims.skip("a string that the adapter does not quote");
        }
        return '"' + value + '"';
    }
}
