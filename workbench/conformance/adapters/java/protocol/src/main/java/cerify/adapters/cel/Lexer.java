package cerify.adapters.cel;

import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Span;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;

/** Cuts the text of a query into tokens; the papers' symbols become the ASCII spelling. */
final class Lexer {

    private static final Map<String, String> SPELLINGS = Map.of(
            "∧", "AND", "∨", "OR", "⊕", ":+", "π", "PROJECT", "≤", "<=", "≥", ">=", "≠", "!=", "NEXT", "NXT", "AS", "IN");
    private static final List<String> LONG_SYMBOLS = List.of("<=", ">=", "!=", ":+");
    private static final String SHORT_SYMBOLS = ";:+-*/()[]{},.<>=∧∨⊕≤≥≠~!¬";

    private final int[] text;
    private int here;

    Lexer(String text) {
        this.text = text.codePoints().toArray();
    }

    /** All tokens, with one of kind END last. */
    List<Token> tokens() {
        List<Token> tokens = new ArrayList<>();
        while (true) {
            while (here < text.length && Character.isWhitespace(text[here])) {
                here++;
            }
            if (here == text.length) {
                tokens.add(new Token(Token.Kind.END, "the end of the query", new Span(here, here)));
                return tokens;
            }
            tokens.add(next());
        }
    }

    private Token next() {
        int start = here;
        int c = text[here];
        if (c == '\'') {
            return string(start);
        }
        if (isDigit(c)) {
            return number(start);
        }
        if (Character.isLetter(c) || c == '_') {
            run(x -> Character.isLetterOrDigit(x) || x == '_');
            return token(Token.Kind.NAME, start, from(start));
        }
        if (here + 1 < text.length && LONG_SYMBOLS.contains(new String(text, here, 2))) {
            here += 2;
            return token(Token.Kind.SYMBOL, start, from(start));
        }
        if (SHORT_SYMBOLS.indexOf(c) < 0) {
            String message = "the character " + Character.toString(c) + " has no meaning here";
            throw new Problem(Problem.Code.PARSE, message, new Span(here, here + 1));
        }
        here++;
        return token(Token.Kind.SYMBOL, start, from(start));
    }

    private Token string(int start) {
        StringBuilder value = new StringBuilder();
        here++;
        while (here < text.length) {
            if (text[here] != '\'') {
                value.appendCodePoint(text[here++]);
            } else if (here + 1 < text.length && text[here + 1] == '\'') {
                value.append('\'');
                here += 2;
            } else {
                here++;
                return new Token(Token.Kind.STRING, value.toString(), new Span(start, here));
            }
        }
        throw new Problem(Problem.Code.PARSE, "the string is not closed", new Span(start, here));
    }

    private Token number(int start) {
        run(Lexer::isDigit);
        if (peek(0) == '.' && isDigit(peek(1))) {
            here++;
            run(Lexer::isDigit);
        }
        if (peek(0) == 'e' || peek(0) == 'E') {
            int sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
            if (isDigit(peek(1 + sign))) {
                here += 1 + sign;
                run(Lexer::isDigit);
            }
        }
        return new Token(Token.Kind.NUMBER, from(start), new Span(start, here));
    }

    private Token token(Token.Kind kind, int start, String written) {
        return new Token(kind, SPELLINGS.getOrDefault(written, written), new Span(start, here));
    }

    private void run(IntPredicate wanted) {
        while (here < text.length && wanted.test(text[here])) {
            here++;
        }
    }

    private int peek(int ahead) {
        return here + ahead < text.length ? text[here + ahead] : -1;
    }

    private String from(int start) {
        return new String(text, start, here - start);
    }

    private static boolean isDigit(int c) {
        return c >= '0' && c <= '9';
    }
}
