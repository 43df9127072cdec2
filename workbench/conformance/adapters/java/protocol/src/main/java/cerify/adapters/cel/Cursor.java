package cerify.adapters.cel;

import cerify.adapters.protocol.Problem;
import java.util.List;

/** A place in the tokens of a query, and the steps that a parser takes from it. */
final class Cursor {

    private final List<Token> tokens;
    private int index;

    Cursor(String text) {
        this.tokens = new Lexer(text).tokens();
    }

    Token peek() {
        return tokens.get(index);
    }

    Token peek(int ahead) {
        return tokens.get(Math.min(index + ahead, tokens.size() - 1));
    }

    boolean at(String... texts) {
        return peek().is(texts);
    }

    boolean at(Token.Kind kind) {
        return peek().kind() == kind;
    }

    Token take() {
        Token token = peek();
        if (!at(Token.Kind.END)) {
            index++;
        }
        return token;
    }

    boolean accept(String text) {
        boolean there = at(text);
        if (there) {
            index++;
        }
        return there;
    }

    Token expect(String text) {
        if (!at(text)) {
            throw unexpected("'" + text + "'");
        }
        return take();
    }

    Token expect(Token.Kind kind, String what) {
        if (!at(kind)) {
            throw unexpected(what);
        }
        return take();
    }

    Problem unexpected(String wanted) {
        return new Problem(Problem.Code.PARSE, wanted + " expected, not " + peek().text(), peek().span());
    }

    int mark() {
        return index;
    }

    void reset(int mark) {
        index = mark;
    }
}
