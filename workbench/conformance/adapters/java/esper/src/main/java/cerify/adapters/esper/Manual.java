package cerify.adapters.esper;

import cerify.adapters.protocol.Skip;

/** The pages of Esper's reference that reasons for skipping point to. */
enum Manual {
    MATCH_RECOGNIZE("match-recognize.html"),
    PATTERNS("event_patterns.html");

    private static final String REFERENCE = "http://esper.espertech.com/release-8.9.0/reference-esper/html/";

    private final String page;

    Manual(String page) {
        this.page = page;
    }

    /** What to throw where Esper does not claim to do something. */
    Skip skip(String reason) {
        return new Skip(reason, REFERENCE + page);
    }
}
