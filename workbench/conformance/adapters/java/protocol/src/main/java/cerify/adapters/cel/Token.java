package cerify.adapters.cel;

import cerify.adapters.protocol.Span;

/** A word of a query's text, and where it stands. */
record Token(Kind kind, String text, Span span) {

    enum Kind {
        NAME,
        NUMBER,
        STRING,
        SYMBOL,
        END
    }

    boolean is(String... texts) {
        if (kind != Kind.NAME && kind != Kind.SYMBOL) {
            return false;
        }
        for (String candidate : texts) {
            if (text.equals(candidate)) {
                return true;
            }
        }
        return false;
    }
}
