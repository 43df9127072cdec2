package cerify.adapters.cel;

import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Span;
import cerify.adapters.protocol.Values;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** From text to what follows FILTER: conditions, predicates and terms. */
final class ConditionParser {

    private final Cursor cursor;

    ConditionParser(Cursor cursor) {
        this.cursor = cursor;
    }

    Condition condition() {
        Condition condition = conjunction();
        while (cursor.accept("OR")) {
            condition = new Condition.Either(condition, conjunction());
        }
        return condition;
    }

    private Condition conjunction() {
        Condition condition = atom();
        while (cursor.accept("AND")) {
            condition = new Condition.Both(condition, atom());
        }
        return condition;
    }

    private Condition atom() {
        if (cursor.at("(")) {
            return either(this::compared, this::nested);
        }
        if (cursor.at(Token.Kind.NAME) && cursor.peek(1).is("[")) {
            return every();
        }
        if (cursor.at(Token.Kind.NAME) && cursor.peek(1).is("(")) {
            return named();
        }
        return compared();
    }

    private Condition nested() {
        cursor.expect("(");
        Condition condition = condition();
        cursor.expect(")");
        return condition;
    }

    private Condition every() {
        int start = cursor.peek().span().start();
        String variable = CelParser.name(cursor, "a variable");
        cursor.expect("[");
        Predicate predicate = disjunction();
        int end = cursor.expect("]").span().end();
        if (predicate.mentions().stream().anyMatch(mention -> mention.variable() != null)) {
            throw problem("inside the brackets of " + variable + " an attribute stands alone", new Span(start, end));
        }
        return new Condition.Every(variable, predicate);
    }

    private Condition named() {
        String name = CelParser.name(cursor, "a predicate");
        List<String> variables = new ArrayList<>();
        cursor.expect("(");
        do {
            variables.add(CelParser.name(cursor, "a variable"));
        } while (cursor.accept(","));
        cursor.expect(")");
        return new Condition.Named(name, variables);
    }

    /** A comparison outside brackets: of one event, if it mentions one attribute, and correlated otherwise. */
    private Condition compared() {
        int start = cursor.peek().span().start();
        Predicate predicate = comparison();
        List<Term.Attribute> mentions = predicate.mentions();
        Span span = new Span(start, cursor.peek().span().start());
        if (mentions.isEmpty() || mentions.stream().anyMatch(mention -> mention.variable() == null)) {
            throw problem("a filter compares attributes of variables, as in A.x > 40", span);
        }
        return mentions.size() == 1
                ? new Condition.Every(mentions.get(0).variable(), predicate)
                : new Condition.Correlated(predicate);
    }

    private Predicate disjunction() {
        Predicate predicate = conjunct();
        while (cursor.accept("or")) {
            predicate = new Predicate.Or(predicate, conjunct());
        }
        return predicate;
    }

    private Predicate conjunct() {
        Predicate predicate = negation();
        while (cursor.accept("and")) {
            predicate = new Predicate.And(predicate, negation());
        }
        return predicate;
    }

    private Predicate negation() {
        if (cursor.accept("not")) {
            return new Predicate.Not(negation());
        }
        return cursor.at("(") ? either(this::comparison, this::nestedPredicate) : comparison();
    }

    private Predicate nestedPredicate() {
        cursor.expect("(");
        Predicate predicate = disjunction();
        cursor.expect(")");
        return predicate;
    }

    /** Where a parenthesis may open a sum or something larger: the one that parses, with the error that got further. */
    private <T> T either(Supplier<T> first, Supplier<T> second) {
        int mark = cursor.mark();
        try {
            return first.get();
        } catch (Problem problem) {
            cursor.reset(mark);
            try {
                return second.get();
            } catch (Problem other) {
                throw problem.span().start() > other.span().start() ? problem : other;
            }
        }
    }

    private Predicate comparison() {
        Term left = sum();
        if (cursor.at("<", "<=", ">", ">=", "=", "!=")) {
            return new Predicate.Comparison(cursor.take().text(), left, sum());
        }
        if (cursor.accept("like")) {
            return new Predicate.Like(left, pattern());
        }
        if (!cursor.accept("in")) {
            throw cursor.unexpected("a comparison");
        }
        boolean range = cursor.accept("range");
        cursor.expect(range ? "(" : "{");
        List<Term.Constant> values = new ArrayList<>();
        do {
            values.add(constant());
        } while (cursor.accept(",") && !(range && values.size() == 2));
        if (range && values.size() != 2) {
            throw cursor.unexpected("the two ends of the range");
        }
        cursor.expect(range ? ")" : "}");
        return range ? new Predicate.InRange(left, values.get(0), values.get(1)) : new Predicate.OneOf(left, values);
    }

    private String pattern() {
        Token token = cursor.expect(Token.Kind.STRING, "a pattern in quotes");
        try {
            return Pattern.compile(token.text()).pattern();
        } catch (PatternSyntaxException e) {
            throw problem("not a regular expression: " + e.getDescription(), token.span());
        }
    }

    private Term sum() {
        Term term = product();
        while (cursor.at("+", "-")) {
            term = new Term.Arithmetic(cursor.take().text(), term, product());
        }
        return term;
    }

    private Term product() {
        Term term = factor();
        while (cursor.at("*", "/")) {
            term = new Term.Arithmetic(cursor.take().text(), term, factor());
        }
        return term;
    }

    private Term factor() {
        if (cursor.accept("-")) {
            Term term = factor();
            return term instanceof Term.Constant constant && constant.type().isNumber()
                    ? negative(constant)
                    : new Term.Arithmetic("-", new Term.Constant(0L, AttributeType.INT), term);
        }
        if (cursor.accept("(")) {
            Term term = sum();
            cursor.expect(")");
            return term;
        }
        if (cursor.at(Token.Kind.NAME) && !cursor.at("true", "false") && !isTimestamp()) {
            String name = CelParser.name(cursor, "an attribute");
            return cursor.accept(".")
                    ? new Term.Attribute(name, CelParser.name(cursor, "an attribute"))
                    : new Term.Attribute(null, name);
        }
        return literal();
    }

    private boolean isTimestamp() {
        return cursor.at("timestamp") && cursor.peek(1).kind() == Token.Kind.STRING;
    }

    private Term.Constant constant() {
        boolean minus = cursor.accept("-");
        Token token = cursor.peek();
        Term.Constant constant = literal();
        if (minus && !constant.type().isNumber()) {
            throw problem("only a number has a sign", token.span());
        }
        return minus ? negative(constant) : constant;
    }

    private static Term.Constant negative(Term.Constant constant) {
        Object value = constant.value() instanceof Long number ? (Object) (-number) : -(Double) constant.value();
        return new Term.Constant(value, constant.type());
    }

    private Term.Constant literal() {
        boolean timestamp = isTimestamp();
        if (timestamp) {
            cursor.take();
        }
        Token token = cursor.take();
        try {
            if (timestamp) {
                return new Term.Constant(Values.microseconds(token.text()), AttributeType.TIMESTAMP);
            }
            if (token.is("true", "false")) {
                return new Term.Constant(token.text().equals("true"), AttributeType.BOOL);
            }
            if (token.kind() == Token.Kind.STRING) {
                return new Term.Constant(token.text(), AttributeType.STRING);
            }
            if (token.kind() == Token.Kind.NUMBER) {
                return token.text().matches("[0-9]+")
                        ? new Term.Constant(Long.valueOf(token.text()), AttributeType.INT)
                        : new Term.Constant(Double.valueOf(token.text()), AttributeType.FLOAT);
            }
        } catch (DateTimeException | NumberFormatException e) {
            throw problem(token.text() + " is out of range or no ISO 8601 time", token.span());
        }
        throw problem("a value or an attribute expected, not " + token.text(), token.span());
    }

    private static Problem problem(String message, Span span) {
        return new Problem(Problem.Code.PARSE, message, span);
    }
}
