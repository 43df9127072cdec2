package cerify.adapters.cel;

import cerify.adapters.cel.Formula.Window.Measure;
import cerify.adapters.protocol.Problem;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BinaryOperator;

/** From text to a CEL formula, by recursive descent: one method for each level of precedence. */
public final class CelParser {

    private static final Set<String> KEYWORDS = Set.of(
            "IN", "FILTER", "PROJECT", "START", "OR", "AND", "ALL", "UNLESS", "STRICT", "NXT", "LAST", "MAX", "WITHIN",
            "EVENTS", "PARTITION", "BY", "true", "false", "and", "or", "not", "in", "range", "like");
    private static final Map<String, String> UNITS = Map.of(
            "seconds", "second", "minutes", "minute", "hours", "hour", "days", "day");

    private final Cursor cursor;
    private final ConditionParser conditions;

    private CelParser(String text) {
        cursor = new Cursor(text);
        conditions = new ConditionParser(cursor);
    }

    /** The formula that the text writes; throws a Problem with a span where it writes none. */
    public static Formula parse(String text) {
        CelParser parser = new CelParser(text);
        Formula phi = parser.formula();
        parser.cursor.expect(Token.Kind.END, "an operator or the end of the query");
        return phi;
    }

    private Formula formula() {
        Formula phi = combination();
        while (true) {
            if (cursor.accept("FILTER")) {
                phi = new Formula.Filter(phi, conditions.condition());
            } else if (cursor.accept("WITHIN")) {
                phi = new Formula.Within(phi, window());
            } else if (cursor.accept("PARTITION")) {
                cursor.expect("BY");
                cursor.expect("[");
                phi = new Formula.PartitionBy(phi, name("an attribute"));
                cursor.expect("]");
            } else {
                return phi;
            }
        }
    }

    private Formula.Window window() {
        double width = Double.parseDouble(cursor.expect(Token.Kind.NUMBER, "the width of the window").text());
        if (cursor.accept("EVENTS")) {
            return new Formula.Window(width, Measure.EVENTS, "EVENTS");
        }
        if (cursor.accept("[")) {
            String attribute = name("an attribute");
            cursor.expect("]");
            return new Formula.Window(width, Measure.ATTRIBUTE, attribute);
        }
        String unit = UNITS.getOrDefault(cursor.peek().text(), cursor.peek().text());
        if (!UNITS.containsValue(unit)) {
            throw cursor.unexpected("EVENTS, a unit of time or an attribute in brackets");
        }
        cursor.take();
        return new Formula.Window(width, Measure.TIME, unit);
    }

    private Formula combination() {
        Formula phi = sequence();
        String first = cursor.peek().text();
        while (cursor.at("OR", "AND", "ALL", "UNLESS")) {
            sameAs(first, "side by side need parentheses around one of them");
            cursor.take();
            phi = combiner(first).apply(phi, sequence());
        }
        return phi;
    }

    private static BinaryOperator<Formula> combiner(String operator) {
        return operator.equals("OR")
                ? Formula.Or::new
                : (left, right) -> new Formula.Combination(Formula.Combiner.valueOf(operator), left, right);
    }

    private Formula sequence() {
        Formula phi = postfix();
        String first = cursor.peek().text();
        while (cursor.at(";", ":")) {
            sameAs(first, "do not associate and need parentheses around one of them");
            cursor.take();
            phi = new Formula.Sequence(phi, postfix(), first.equals(":"));
        }
        return phi;
    }

    private void sameAs(String first, String rule) {
        if (!cursor.at(first)) {
            String message = first + " and " + cursor.peek().text() + " " + rule;
            throw new Problem(Problem.Code.PARSE, message, cursor.peek().span());
        }
    }

    private Formula postfix() {
        Formula phi = primary();
        while (true) {
            if (cursor.accept("IN")) {
                phi = new Formula.In(phi, name("a variable"));
            } else if (cursor.accept("+")) {
                phi = new Formula.Iteration(phi, 1, 0, false);
            } else if (cursor.accept(":+")) {
                phi = new Formula.Iteration(phi, 1, 0, true);
            } else if (cursor.accept("{")) {
                phi = repeated(phi, false);
            } else if (cursor.at(":") && cursor.peek(1).is("{")) {
                cursor.take();
                cursor.expect("{");
                phi = repeated(phi, true);
            } else {
                return phi;
            }
        }
    }

    private Formula repeated(Formula phi, boolean contiguous) {
        int least = rounds();
        int most = least;
        if (cursor.accept(",")) {
            most = cursor.at("}") ? 0 : rounds();
        }
        Token end = cursor.expect("}");
        if (least == 0 || most != 0 && most < least) {
            throw new Problem(Problem.Code.ILL_FORMED, "an iteration has one round or more, the least number first", end.span());
        }
        return new Formula.Iteration(phi, least, most, contiguous);
    }

    private int rounds() {
        Token token = cursor.expect(Token.Kind.NUMBER, "a number of rounds");
        try {
            return Integer.parseInt(token.text());
        } catch (NumberFormatException e) {
            throw new Problem(Problem.Code.PARSE, "a number of rounds is an integer of 32 bits", token.span());
        }
    }

    private Formula primary() {
        if (cursor.at("(")) {
            return inParentheses();
        }
        if (cursor.accept("START")) {
            return new Formula.Start(inParentheses());
        }
        if (cursor.at("STRICT", "NXT", "LAST", "MAX")) {
            return new Formula.Selection(Formula.Strategy.valueOf(cursor.take().text()), inParentheses());
        }
        if (cursor.accept("PROJECT")) {
            Set<String> variables = variables();
            return new Formula.Project(variables, inParentheses());
        }
        return new Formula.OfType(name("an event type, '(' or an operator of CEL"));
    }

    private Formula inParentheses() {
        cursor.expect("(");
        Formula phi = formula();
        cursor.expect(")");
        return phi;
    }

    private Set<String> variables() {
        Set<String> variables = new TreeSet<>();
        cursor.expect("[");
        if (!cursor.at("]")) {
            do {
                variables.add(name("a variable"));
            } while (cursor.accept(","));
        }
        cursor.expect("]");
        return variables;
    }

    private String name(String what) {
        return name(cursor, what);
    }

    /** The name that the cursor stands at, which must be no keyword. */
    static String name(Cursor cursor, String what) {
        if (KEYWORDS.contains(cursor.peek().text())) {
            throw cursor.unexpected(what);
        }
        return cursor.expect(Token.Kind.NAME, what).text();
    }
}
