package cerify.adapters.protocol;

/** Thrown where a query asks for something that the engine does not claim to do. */
public final class Skip extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String link;

    /** A reason, as a sentence to the reader of a report, and the page of the engine's manual that bears it out. */
    public Skip(String reason, String link) {
        super(reason);
        this.link = link;
    }

    /** The page of the engine's manual. */
    public String link() {
        return link;
    }
}
