package cerify.adapters.protocol;

import java.util.Locale;

/** What is wrong with a run, in the words of the protocol. */
public final class Problem extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** The kinds of problem that the protocol knows. */
    public enum Code {
        PARSE,
        ILL_FORMED,
        UNSUPPORTED,
        BUDGET,
        INTERNAL;

        /** The code as it is written in a message. */
        public String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final Code code;
    private final transient Span span;

    /** A problem of the run as a whole. */
    public Problem(Code code, String message) {
        this(code, message, (Span) null);
    }

    /** A problem at a place of the query's text. */
    public Problem(Code code, String message, Span span) {
        super(message);
        this.code = code;
        this.span = span;
    }

    /** A problem of the run as a whole, with the exception of the engine that it stems from. */
    public Problem(Code code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
        this.span = null;
    }

    /** The kind of problem. */
    public Code code() {
        return code;
    }

    /** Where in the query's text, or null. */
    public Span span() {
        return span;
    }
}
