package cerify.adapters.cel;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.json.JSONArray;
import org.json.JSONObject;

/** From the tree of a query block of SASE+, as messages have it, to a {@link SaseQuery}: docs/reference/protocol.md. */
public final class SaseReader {

    private static final Map<String, Integer> SECONDS =
            Map.of("seconds", 1, "minutes", 60, "hours", 3_600, "days", 86_400, "weeks", 604_800);

    private final List<Predicate> conditions = new ArrayList<>();
    private final List<String> equivalences = new ArrayList<>();
    private final Set<String> cut = new LinkedHashSet<>();
    private String strategy = "skip_till_next_match";

    private SaseReader() {}

    /** The query of a tree. Throws a Problem "unsupported" where it is outside of {@link SaseQuery}. */
    public static SaseQuery query(JSONObject tree) {
        if (!PredicateReader.node(tree).equals("Query") || !tree.isNull("having") || !tree.isNull("source")) {
            throw PredicateReader.unread("UNION, HAVING and streams of other queries");
        }
        return new SaseReader().block(tree);
    }

    private SaseQuery block(JSONObject tree) {
        List<SaseQuery.Component> components = new ArrayList<>();
        for (JSONObject component : objects(tree.getJSONArray("pattern"))) {
            components.add(new SaseQuery.Component(
                    component.getString("type"),
                    component.getString("variable"),
                    component.getBoolean("kleene"),
                    component.getBoolean("negated")));
        }
        List<JSONObject> blocks = objects(tree.getJSONArray("where"));
        if (blocks.size() > 1) {
            throw PredicateReader.unread("several strategies");
        }
        blocks.forEach(block -> where(block, components));
        Optional<Double> window = Optional.ofNullable(tree.optJSONObject("within"))
                .map(within -> within.getDouble("amount") * SECONDS.get(within.getString("unit")));
        Map<String, Object> result = result(tree.getJSONObject("returned"));
        return new SaseQuery(components, strategy, cut, conditions, equivalences, window, result);
    }

    private void where(JSONObject block, List<SaseQuery.Component> components) {
        if (!block.isNull("strategy")) {
            strategy = block.getString("strategy");
            Set<String> variables = new HashSet<>();
            for (JSONObject selected : objects(block.getJSONArray("arguments"))) {
                variables.add(selected.getString("variable"));
                if (selected.getBoolean("cut")) {
                    cut.add(selected.getString("variable"));
                }
            }
            if (!components.stream().allMatch(component -> variables.contains(component.variable()))) {
                throw PredicateReader.unread("a strategy for some of the components");
            }
        }
        for (JSONObject conjunct : objects(block.getJSONArray("conjuncts"))) {
            JSONObject condition = conjunct.getJSONObject("condition");
            if (conjunct.getBoolean("underlined")) {
                throw PredicateReader.unread("an underlined predicate");
            }
            if (PredicateReader.node(condition).equals("Equivalence")) {
                equivalences.add(condition.getString("attribute"));
            } else {
                conditions.add(PredicateReader.predicate(condition));
            }
        }
    }

    /** The constants of RETURN, each with a name; null if there is anything else. */
    private static Map<String, Object> result(JSONObject returned) {
        if (!returned.isNull("stream") || returned.getBoolean("non_overlap")) {
            throw PredicateReader.unread("NON-OVERLAP and streams of results");
        }
        Map<String, Object> result = new LinkedHashMap<>();
        for (JSONObject item : objects(returned.getJSONArray("items"))) {
            JSONObject term = item.getJSONObject("output").optJSONObject("term");
            if (term == null || !PredicateReader.node(term).equals("Constant") || item.isNull("alias") || !returned.isNull("type")) {
                return null;
            }
            result.put(item.getString("alias"), PredicateReader.constant(term.get("value")).value());
        }
        return result;
    }

    private static List<JSONObject> objects(JSONArray array) {
        List<JSONObject> objects = new ArrayList<>();
        array.forEach(object -> objects.add((JSONObject) object));
        return objects;
    }
}
