package cerify.adapters.cel;

import cerify.adapters.cel.Formula.Window.Measure;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import org.json.JSONObject;

/** From the tree of a query in CEL, as messages have it, to a formula: docs/reference/protocol.md. */
public final class FormulaReader {

    private FormulaReader() {}

    /** The formula of a node. Throws a Problem "unsupported" where the library has none. */
    public static Formula formula(JSONObject tree) {
        String node = PredicateReader.node(tree);
        boolean contiguous = node.startsWith("Contiguous");
        return switch (node) {
            case "Event" -> new Formula.OfType(tree.getString("type"));
            case "In" -> new Formula.In(phi(tree), tree.getString("variable"));
            case "Filter" -> new Formula.Filter(phi(tree), condition(tree.getJSONObject("condition")));
            case "Seq", "ContiguousSeq" -> new Formula.Sequence(left(tree), right(tree), contiguous);
            case "Plus", "ContiguousPlus" -> new Formula.Iteration(phi(tree), 1, 0, contiguous);
            case "Repeat", "ContiguousRepeat" -> new Formula.Iteration(
                    phi(tree), tree.getInt("least"), tree.optInt("most", 0), contiguous);
            case "Project" -> new Formula.Project(new TreeSet<>(variables(tree)), phi(tree));
            case "Start" -> new Formula.Start(phi(tree));
            case "Or" -> new Formula.Or(left(tree), right(tree));
            case "And", "All", "Unless" -> new Formula.Combination(
                    Formula.Combiner.valueOf(node.toUpperCase(Locale.ROOT)), left(tree), right(tree));
            case "Strict", "Next", "Last", "Max" -> new Formula.Selection(
                    Formula.Strategy.valueOf(node.toUpperCase(Locale.ROOT)), phi(tree));
            case "Within" -> new Formula.Within(phi(tree), window(tree.getJSONObject("window")));
            case "PartitionBy" -> new Formula.PartitionBy(phi(tree), tree.getString("attribute"));
            default -> throw PredicateReader.unread(node);
        };
    }

    private static Formula phi(JSONObject tree) {
        return formula(tree.getJSONObject("phi"));
    }

    private static Formula left(JSONObject tree) {
        return formula(tree.getJSONObject("left"));
    }

    private static Formula right(JSONObject tree) {
        return formula(tree.getJSONObject("right"));
    }

    private static List<String> variables(JSONObject tree) {
        List<String> variables = new ArrayList<>();
        tree.getJSONArray("variables").forEach(variable -> variables.add((String) variable));
        return variables;
    }

    private static Formula.Window window(JSONObject tree) {
        return switch (PredicateReader.node(tree)) {
            case "EventWindow" -> new Formula.Window(tree.getDouble("count"), Measure.EVENTS, "EVENTS");
            case "TimeWindow" -> new Formula.Window(tree.getDouble("amount"), Measure.TIME, tree.getString("unit"));
            case "AttributeWindow" -> new Formula.Window(
                    tree.getDouble("width"), Measure.ATTRIBUTE, tree.getString("attribute"));
            default -> throw PredicateReader.unread(PredicateReader.node(tree));
        };
    }

    private static Condition condition(JSONObject tree) {
        return switch (PredicateReader.node(tree)) {
            case "Every" -> new Condition.Every(
                    tree.getString("variable"), PredicateReader.predicate(tree.getJSONObject("predicate")));
            case "Correlated" -> new Condition.Correlated(
                    PredicateReader.predicate(tree.getJSONObject("predicate")));
            case "Named" -> new Condition.Named(tree.getString("name"), variables(tree));
            case "Conjunction" -> new Condition.Both(below(tree, "left"), below(tree, "right"));
            case "Disjunction" -> new Condition.Either(below(tree, "left"), below(tree, "right"));
            default -> throw PredicateReader.unread(PredicateReader.node(tree));
        };
    }

    private static Condition below(JSONObject tree, String part) {
        return condition(tree.getJSONObject(part));
    }
}
