package cerify.adapters.protocol;

import java.util.Locale;

/** What is wrong with a run: a code of the protocol and a sentence. */
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

    /** A problem of this kind, with a sentence for the reader of a report. */
    public Problem(Code code, String message) {
        this(code, message, null);
    }

    /** A problem with the exception of the engine that causes it. */
    public Problem(Code code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** The kind of problem. */
    public Code code() {
        return code;
    }
}
