package cerify.adapters.protocol;

/** A region of a query's text, in code points, from start to before end. */
public record Span(int start, int end) {}
