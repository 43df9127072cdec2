package cerify.adapters.cel;

import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Problem;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** From text to a query block of SASE+; throws a Problem "unsupported" where the text is outside of {@link SaseQuery}. */
public final class SaseParser {

    private static final Set<String> STRATEGIES =
            Set.of("strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match");
    private static final Map<String, Integer> UNITS = Map.of("second", 1, "minute", 60, "hour", 3_600, "day", 86_400);

    private final Cursor cursor;
    private final List<SaseQuery.Component> components = new ArrayList<>();
    private final List<Predicate> conditions = new ArrayList<>();
    private final List<String> equivalences = new ArrayList<>();
    private final Set<String> cut = new LinkedHashSet<>();
    private String strategy = "skip_till_next_match";

    private SaseParser(String text) {
        cursor = new Cursor(text);
    }

    /** The query that the text writes. */
    public static SaseQuery parse(String text) {
        return new SaseParser(text).query();
    }

    private SaseQuery query() {
        require("PATTERN");
        require("SEQ");
        require("(");
        do {
            components.add(component());
        } while (cursor.accept(","));
        require(")");
        if (cursor.accept("WHERE")) {
            where();
        }
        Optional<Double> window = cursor.accept("WITHIN") ? Optional.of(seconds()) : Optional.empty();
        Map<String, Object> result = cursor.accept("RETURN") ? result() : Map.of();
        if (!cursor.at(Token.Kind.END)) {
            throw unsupported();
        }
        return new SaseQuery(components, strategy, cut, conditions, equivalences, window, result);
    }

    private SaseQuery.Component component() {
        boolean negated = cursor.accept("~");
        String type = name();
        boolean kleene = cursor.accept("+");
        String variable = name();
        if (kleene) {
            require("[");
            require("]");
        }
        return new SaseQuery.Component(type, variable, kleene, negated);
    }

    private void where() {
        if (!STRATEGIES.contains(cursor.peek().text())) {
            conjuncts("WITHIN", "RETURN");
            return;
        }
        strategy = cursor.take().text();
        Set<String> variables = new LinkedHashSet<>();
        require("(");
        do {
            String variable = name();
            variables.add(variable);
            if (cursor.accept("[")) {
                require("]");
                if (cursor.accept("!")) {
                    cut.add(variable);
                }
            }
        } while (cursor.accept(","));
        require(")");
        require("{");
        conjuncts("}");
        require("}");
        if (!components.stream().allMatch(component -> variables.contains(component.variable()))) {
            throw unsupported(); // a component with the default strategy, or one of another block
        }
    }

    private void conjuncts(String... ends) {
        while (!cursor.at(ends) && !cursor.at(Token.Kind.END)) {
            cursor.accept("and");
            cursor.accept("AND");
            if (cursor.accept("[")) {
                equivalences.add(name());
                require("]");
            } else {
                Term left = sum();
                if (!cursor.at("<", "<=", ">", ">=", "=", "!=")) {
                    throw unsupported();
                }
                conditions.add(new Predicate.Comparison(cursor.take().text(), left, sum()));
            }
        }
    }

    private Term sum() {
        Term term = factor();
        while (cursor.at("+", "-", "*")) {
            String operator = cursor.take().text();
            if (operator.equals("*") && term instanceof Term.Arithmetic) {
                throw unsupported(); // precedence
            }
            term = new Term.Arithmetic(operator, term, factor());
        }
        return term;
    }

    private Term factor() {
        if (!cursor.at(Token.Kind.NAME) || cursor.at("true", "false")) {
            return constant();
        }
        String variable = name();
        if (cursor.accept("[")) {
            variable = variable + "[" + place(variable) + "]";
            require("]");
        }
        require(".");
        return new Term.Attribute(variable, name());
    }

    private String place(String variable) {
        if (cursor.at(Token.Kind.NUMBER) && cursor.peek().text().equals("1")) {
            cursor.take();
            return "1";
        }
        if (cursor.accept("i")) {
            if (!cursor.accept("-")) {
                return "i";
            }
            if (!cursor.take().text().equals("1")) {
                throw unsupported();
            }
            return "i-1";
        }
        if (cursor.accept(variable)) {
            require(".");
            require("LEN");
            return "LEN";
        }
        throw unsupported();
    }

    private Term.Constant constant() {
        boolean minus = cursor.accept("-");
        Token token = cursor.take();
        if (token.kind() == Token.Kind.STRING && !minus) {
            return new Term.Constant(token.text(), AttributeType.STRING);
        }
        if (token.is("true", "false") && !minus) {
            return new Term.Constant(token.text().equals("true"), AttributeType.BOOL);
        }
        if (token.kind() != Token.Kind.NUMBER) {
            throw unsupported();
        }
        String text = (minus ? "-" : "") + token.text();
        try {
            return token.text().matches("[0-9]+")
                    ? new Term.Constant(Long.valueOf(text), AttributeType.INT)
                    : new Term.Constant(Double.valueOf(text), AttributeType.FLOAT);
        } catch (NumberFormatException e) {
            throw unsupported();
        }
    }

    private double seconds() {
        double amount = Double.parseDouble(cursor.expect(Token.Kind.NUMBER, "the length of the window").text());
        String unit = cursor.take().text();
        Integer seconds = UNITS.get(unit.endsWith("s") ? unit.substring(0, unit.length() - 1) : unit);
        if (seconds == null) {
            throw unsupported();
        }
        return amount * seconds;
    }

    /** The constants of RETURN, each with a name; null, with the rest of the text read, if there is anything else. */
    private Map<String, Object> result() {
        Map<String, Object> result = new LinkedHashMap<>();
        if (cursor.at(Token.Kind.NAME) && !cursor.at("true", "false")) {
            while (!cursor.at(Token.Kind.END) && !cursor.at("UNION", "PATTERN", "NON", "STREAM")) {
                cursor.take();
            }
            return null;
        }
        do {
            Object value = constant().value();
            require("AS");
            result.put(name(), value);
        } while (cursor.accept(","));
        return result;
    }

    private void require(String text) {
        if (!cursor.accept(text) && !(text.equals("AS") && cursor.accept("IN"))) { // the reader of CEL makes AS an IN
            throw unsupported();
        }
    }

    private String name() {
        if (!cursor.at(Token.Kind.NAME)) {
            throw unsupported();
        }
        return cursor.take().text();
    }

    private Problem unsupported() {
        return new Problem(
                Problem.Code.UNSUPPORTED,
                "the adapter reads one block of SASE+ without aggregates, whose RETURN has constants; not "
                        + cursor.peek().text(),
                cursor.peek().span());
    }
}
