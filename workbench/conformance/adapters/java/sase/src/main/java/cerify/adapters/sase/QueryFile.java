package cerify.adapters.sase;

import cerify.adapters.cel.Predicate;
import cerify.adapters.cel.SaseQuery;
import cerify.adapters.cel.Term;
import cerify.adapters.protocol.Skip;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/**
 * A query of SASE+ as the text of a query file of SASE: lines that begin with PATTERN, WHERE, AND and WITHIN.
 *
 * <p>A condition is a line, left operator right. SASE gives it to the component whose letter it begins with, and a letter
 * is the place of the component; so variables are renamed to a, b, c, and the later of two attributes comes first.
 */
final class QueryFile {

    private static final Map<String, String> STRATEGIES = Map.of(
            "skip_till_any_match", "skip-till-any-match",
            "skip_till_next_match", "skip-till-next-match",
            "partition_contiguity", "partition-contiguity");
    private static final Map<String, String> MIRRORED = Map.of("<", ">", "<=", ">=", ">", "<", ">=", "<=", "=", "=", "!=", "!=");

    private final SaseQuery query;

    QueryFile(SaseQuery query) {
        this.query = query;
    }

    /** A skip, with the page of SASE. */
    static Skip skip(String reason) {
        return new Skip(reason, "https://github.com/haopeng/sase/blob/master/README.md");
    }

    /** The text; throws a Skip where SASE has no words for the query. */
    String text() {
        List<String> lines = new ArrayList<>();
        lines.add("PATTERN SEQ(" + pattern() + ")");
        lines.add("WHERE " + strategy());
        query.equivalences().forEach(attribute -> lines.add("AND [" + attribute + "]"));
        query.conditions().forEach(condition -> conjuncts(condition).forEach(line -> lines.add("AND " + line)));
        lines.add("WITHIN " + query.window().map(QueryFile::seconds).orElse(Integer.MAX_VALUE)); // without it, 0
        return String.join("\n", lines) + "\n";
    }

    private String strategy() {
        if (!STRATEGIES.containsKey(query.strategy())) {
            throw skip("SASE has the strategies " + String.join(", ", STRATEGIES.values().stream().sorted().toList()));
        }
        if (!query.cut().isEmpty()) {
            throw skip("a forced break, []!, cannot be written");
        }
        if (query.strategy().equals("partition_contiguity") && query.equivalences().isEmpty()) {
            throw skip("partition contiguity without an equivalence test");
        }
        return STRATEGIES.get(query.strategy());
    }

    private String pattern() {
        StringJoiner text = new StringJoiner(", ");
        List<SaseQuery.Component> components = query.components();
        for (int i = 0; i < components.size(); i++) {
            SaseQuery.Component component = components.get(i);
            if (i == 26 || !component.type().matches("[A-Za-z][A-Za-z0-9_]*")) {
                throw skip("a pattern has 26 components at most, with types of letters and digits");
            }
            boolean between = i > 0 && i + 1 < components.size();
            if (component.negated() && (component.kleene() || !between || negated() > 1)) {
                throw skip("negation of anything but one component, of one event, between two others");
            }
            text.add((component.negated() ? "!" : "") + component.type() + (component.kleene() ? "+ " : " ") + letter(i)
                    + (component.kleene() ? "[]" : ""));
        }
        return text.toString();
    }

    private long negated() {
        return query.components().stream().filter(SaseQuery.Component::negated).count();
    }

    private static char letter(int component) {
        return (char) ('a' + component);
    }

    private static int seconds(double window) {
        if (window != Math.rint(window) || window > Integer.MAX_VALUE) {
            throw skip("a window of a whole number of 32 bits");
        }
        return (int) window;
    }

    /** The lines of a condition: two for one on every event of a Kleene plus, whose [i] is its second event or later. */
    private List<String> conjuncts(Predicate condition) {
        if (!(condition instanceof Predicate.Comparison comparison)) {
            throw skip("a condition that is no comparison");
        }
        Side left = Side.of(comparison.left());
        Side right = Side.of(comparison.right());
        if (left.attribute() == null || (right.attribute() != null && rank(right) > rank(left))) {
            return lines(right, MIRRORED.get(comparison.comparator()), left);
        }
        return lines(left, comparison.comparator(), right);
    }

    private List<String> lines(Side left, String comparator, Side right) {
        if (left.attribute() == null) {
            throw skip("a condition on no event");
        }
        int own = component(left);
        if (right.attribute() != null && component(right) != own && query.components().get(component(right)).negated()) {
            throw skip("a condition on a negated event and a later one");
        }
        String name = left.attribute().name() + left.rest(" ");
        switch (place(left)) {
            case "": // fall through
            case "[1]":
                return List.of(letter(own) + place(left) + "." + name + " " + comparator + " " + operand(own, "[1]", right));
            case "[i]":
                String each = letter(own) + "[i]." + name + " " + comparator + " " + operand(own, "[i]", right);
                boolean fromSecond = right.attribute() != null && component(right) == own && place(right).equals("[i-1]");
                return fromSecond
                        ? List.of(each)
                        : List.of(letter(own) + "[1]." + name + " " + comparator + " " + operand(own, "[1]", right), each);
            default:
                throw skip("a condition on the last event of a Kleene plus");
        }
    }

    /** The right side, for the first or a later event of the left side's component. */
    private String operand(int own, String at, Side side) {
        if (side.attribute() == null) {
            return side.number() < 0 ? "0" + side.number() : "" + side.number();
        }
        int component = component(side);
        SaseQuery.Component mentioned = query.components().get(component);
        String suffix = "." + side.attribute().name() + side.rest("");
        if (!mentioned.kleene()) {
            return letter(component) + suffix;
        }
        if (component == own) {
            if (place(side).equals("[1]") && at.equals("[i]")) {
                throw skip("the first event of a Kleene plus beside a later one");
            }
            return letter(component) + (place(side).equals("[i-1]") ? "[i-1]" : at) + suffix;
        }
        if (place(side).equals("[LEN]") && component + 1 == own && at.equals("[1]")) {
            return letter(component) + "[i-1]" + suffix; // the event before this one
        }
        throw skip("a condition on another event of an earlier Kleene plus than its last");
    }

    private int rank(Side side) {
        return 2 * component(side) + (place(side).equals("[i]") ? 1 : 0);
    }

    private static String place(Side side) {
        return side.attribute().variable().substring(SaseQuery.variable(side.attribute().variable()).length());
    }

    private int component(Side side) {
        String variable = SaseQuery.variable(side.attribute().variable());
        for (int i = 0; i < query.components().size(); i++) {
            if (query.components().get(i).variable().equals(variable)) {
                return i;
            }
        }
        throw skip("a variable of no component");
    }

    /** A side of a comparison: a number, or an attribute, which may have an operator and a number after it. */
    private record Side(Term.Attribute attribute, String operator, int number) {

        static Side of(Term term) {
            if (term instanceof Term.Attribute attribute) {
                return new Side(attribute, "", 0);
            }
            if (term instanceof Term.Constant constant) {
                return new Side(null, "", whole(constant));
            }
            if (term instanceof Term.Arithmetic sum
                    && sum.left() instanceof Term.Attribute attribute
                    && sum.right() instanceof Term.Constant constant
                    && !sum.operator().equals("/")
                    && whole(constant) >= 0) {
                return new Side(attribute, sum.operator(), whole(constant));
            }
            throw skip("a side of a condition that is no number, nor an attribute with at most one number");
        }

        private static int whole(Term.Constant constant) {
            if (constant.value() instanceof Long number && number.intValue() == number && number > Integer.MIN_VALUE) {
                return number.intValue();
            }
            throw skip("values are whole numbers of 32 bits");
        }

        /** What follows the attribute, with this around the operator. */
        String rest(String around) {
            return operator.isEmpty() ? "" : around + operator + around + number;
        }
    }
}
