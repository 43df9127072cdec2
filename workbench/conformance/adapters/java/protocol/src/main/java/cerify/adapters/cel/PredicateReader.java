package cerify.adapters.cel;

import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Values;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.json.JSONObject;

/** From the tree of a query, as messages have it, to predicates and terms: docs/reference/protocol.md. */
final class PredicateReader {

    /** What follows the variable of a reference of SASE+, by the name of its place. */
    private static final Map<String, String> PLACES =
            Map.of("only", "", "first", "[1]", "current", "[i]", "previous", "[i-1]", "last", "[LEN]");

    private PredicateReader() {}

    /** The predicate of a node. Throws a Problem "unsupported" where the library has none. */
    static Predicate predicate(JSONObject tree) {
        return switch (node(tree)) {
            case "Comparison" -> new Predicate.Comparison(
                    tree.getString("comparator"), term(tree, "left"), term(tree, "right"));
            case "OneOf" -> new Predicate.OneOf(term(tree, "term"), constants(tree));
            case "InRange" -> new Predicate.InRange(
                    term(tree, "term"), constant(tree.get("low")), constant(tree.get("high")));
            case "Like" -> new Predicate.Like(term(tree, "term"), pattern(tree.getString("pattern")));
            case "Complement" -> new Predicate.Not(predicate(tree.getJSONObject("predicate")));
            case "Both" -> new Predicate.And(below(tree, "left"), below(tree, "right"));
            case "Either" -> new Predicate.Or(below(tree, "left"), below(tree, "right"));
            default -> throw unread(node(tree));
        };
    }

    private static Predicate below(JSONObject tree, String part) {
        return predicate(tree.getJSONObject(part));
    }

    private static Term term(JSONObject parent, String part) {
        JSONObject tree = parent.getJSONObject(part);
        return switch (node(tree)) {
            case "Attribute" -> new Term.Attribute(tree.optString("variable", null), tree.getString("name"));
            case "Reference" -> new Term.Attribute(
                    tree.getString("variable") + PLACES.get(tree.getString("place")), tree.getString("name"));
            case "Arithmetic" -> new Term.Arithmetic(tree.getString("operator"), term(tree, "left"), term(tree, "right"));
            case "Constant" -> constant(tree.get("value"));
            default -> throw unread(node(tree));
        };
    }

    private static List<Term.Constant> constants(JSONObject tree) {
        List<Term.Constant> values = new ArrayList<>();
        tree.getJSONArray("values").forEach(value -> values.add(constant(value)));
        return values;
    }

    /** A value of the query. */
    static Term.Constant constant(Object json) {
        if (json instanceof JSONObject timestamp) {
            return new Term.Constant(Values.microseconds(timestamp.getString("value")), AttributeType.TIMESTAMP);
        }
        AttributeType type = Values.typeOf(json);
        return switch (type) {
            case INT -> {
                if (json instanceof BigInteger) {
                    throw unread("an integer of more than 64 bits");
                }
                yield new Term.Constant(((Number) json).longValue(), type);
            }
            case FLOAT -> new Term.Constant(((Number) json).doubleValue(), type);
            default -> new Term.Constant(json, type);
        };
    }

    private static String pattern(String pattern) {
        try {
            return Pattern.compile(pattern).pattern();
        } catch (PatternSyntaxException e) {
            throw unread("a pattern that is none of Java's: " + e.getDescription());
        }
    }

    /** The name of a node. */
    static String node(JSONObject tree) {
        return tree.getString("node");
    }

    /** The Problem of a part of a query that the library does not have. */
    static Problem unread(String what) {
        return new Problem(Problem.Code.UNSUPPORTED, "the adapter does not read " + what);
    }
}
