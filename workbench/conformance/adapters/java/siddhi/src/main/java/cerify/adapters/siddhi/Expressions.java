package cerify.adapters.siddhi;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Schema;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** Predicates as conditions of SiddhiQL; a comparison that Siddhi does not compile is false if CEL says so, or skipped. */
record Expressions(Schema schema) {

    /** The name of an attribute in the stream. */
    static String column(String attribute) {
        StringBuilder column = new StringBuilder("a_");
        attribute.codePoints().forEach(c -> column.append(
                c < 128 && Character.isLetterOrDigit(c) ? Character.toString(c) : "_" + Integer.toHexString(c) + "_"));
        return column.toString();
    }

    /** The condition; the prefix of a mention's variable is such as {@code e1.}, or nothing for the event itself. */
    String of(Predicate predicate, UnaryOperator<String> prefix) {
        if (predicate instanceof Predicate.Not not) {
            return "not (" + of(not.inner(), prefix) + ")";
        }
        if (predicate instanceof Predicate.And and) {
            return "(" + of(and.left(), prefix) + " and " + of(and.right(), prefix) + ")";
        }
        if (predicate instanceof Predicate.Or or) {
            return "(" + of(or.left(), prefix) + " or " + of(or.right(), prefix) + ")";
        }
        if (predicate instanceof Predicate.Comparison c) {
            return compared(term(c.left(), prefix), c.comparator(), term(c.right(), prefix));
        }
        if (predicate instanceof Predicate.InRange range) {
            Typed term = term(range.term(), prefix);
            return "(" + compared(term(range.low(), prefix), "<=", term) + " and "
                    + compared(term, "<=", term(range.high(), prefix)) + ")";
        }
        if (predicate instanceof Predicate.OneOf one) {
            Typed term = term(one.term(), prefix);
            return one.values().stream()
                    .map(value -> compared(term, "=", term(value, prefix)))
                    .collect(Collectors.joining(" or ", "(", ")"));
        }
        throw SiddhiClaims.skip("like: regular expressions are an extension of Siddhi", "filter");
    }

    /** A string literal. */
    static String quoted(String value) {
        if (value.contains("\"") || value.contains("\\") || value.chars().anyMatch(c -> c < ' ' || c > '~')) {
            throw SiddhiClaims.skip("a string that the adapter does not quote", "filter");
        }
        return '"' + value + '"';
    }

    private record Typed(String text, AttributeType type) {}

    private static String compared(Typed left, String comparator, Typed right) {
        boolean ordered = !comparator.equals("=") && !comparator.equals("!=");
        if (left.type == null || right.type == null || !left.type.comparesWith(right.type)) {
            return "(1 == 2)";
        }
        if (ordered && left.type == AttributeType.BOOL) {
            return "(1 == 2)";
        }
        if (ordered && left.type == AttributeType.STRING) {
            throw SiddhiClaims.skip("strings have no order in Siddhi", "filter");
        }
        return left.text + " " + (comparator.equals("=") ? "==" : comparator) + " " + right.text;
    }

    private Typed term(Term term, UnaryOperator<String> prefix) {
        if (term instanceof Term.Attribute attribute) {
            if (schema.mixed().contains(attribute.name())) {
                throw SiddhiClaims.skip("the events have values of several types for " + attribute.name(), "stream");
            }
            AttributeType type = schema.attributes().get(attribute.name());
            return new Typed(prefix.apply(attribute.variable()) + column(attribute.name()), type);
        }
        if (term instanceof Term.Arithmetic arithmetic) {
            Typed left = term(arithmetic.left(), prefix);
            Typed right = term(arithmetic.right(), prefix);
            if (arithmetic.operator().equals("/")) {
                throw SiddhiClaims.skip("/ of integers is a division of integers in Siddhi", "filter");
            }
            boolean numbers = left.type != null && right.type != null && left.type.isNumber() && right.type.isNumber();
            boolean whole = left.type == AttributeType.INT && right.type == AttributeType.INT;
            AttributeType type = !numbers ? null : whole ? AttributeType.INT : AttributeType.FLOAT;
            return new Typed("(" + left.text + " " + arithmetic.operator() + " " + right.text + ")", type);
        }
        Term.Constant constant = (Term.Constant) term;
        String text = switch (constant.type()) {
            case INT, TIMESTAMP -> constant.value() + "L";
            case FLOAT -> decimal((Double) constant.value());
            case STRING -> quoted((String) constant.value());
            case BOOL -> constant.value().toString();
        };
        return new Typed(text, constant.type());
    }

    private static String decimal(double value) {
        return new java.math.BigDecimal(value).toPlainString() + (value == Math.rint(value) ? ".0" : "") + "d";
    }
}
