package cerify.adapters.esper;

import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Event;
import cerify.adapters.protocol.Schema;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The one event type that all events have in Esper: match_recognize reads one stream of one type.
 *
 * <p>The CEL type and the position are properties. An attribute has a prefix that keeps it apart from these and from
 * the keywords of EPL, and is null in events that lack it, so that comparisons on it are null, hence not true.
 */
final class EventType {

    static final String NAME = "CelEvent";
    static final String TYPE = "type";
    static final String POSITION = "position";

    private final Schema schema;

    EventType(Schema schema) {
        this.schema = schema;
    }

    /** The properties with their Java classes. */
    Map<String, Object> properties() {
        Map<String, Object> properties = new TreeMap<>();
        properties.put(TYPE, String.class);
        properties.put(POSITION, Integer.class);
        schema.attributes().forEach((name, type) -> properties.put(property(name), javaClass(type)));
        return properties;
    }

    /** The type of an attribute, or null if no event has it. */
    AttributeType typeOf(String attribute) {
        if (schema.mixed().contains(attribute)) {
            throw Manual.MATCH_RECOGNIZE.skip("the events have values of several types for " + attribute
                    + "; a property of Esper has one");
        }
        return schema.attributes().get(attribute);
    }

    /** The event as Esper gets it. */
    static Map<String, Object> row(Event event, int position) {
        Map<String, Object> row = new HashMap<>();
        row.put(TYPE, event.type());
        row.put(POSITION, position);
        event.attributes().forEach((name, value) -> row.put(property(name), value));
        return row;
    }

    /** The property of an attribute; what EPL has no letters for is written as its code. */
    static String property(String attribute) {
        StringBuilder property = new StringBuilder("a_");
        attribute.codePoints().forEach(c -> {
            if (c < 128 && (Character.isLetterOrDigit(c) || c == '_')) {
                property.appendCodePoint(c);
            } else {
                property.append('$').append(Integer.toHexString(c)).append('$');
            }
        });
        return property.toString();
    }

    private static Class<?> javaClass(AttributeType type) {
        return switch (type) {
            case INT, TIMESTAMP -> Long.class;
            case FLOAT -> Double.class;
            case STRING -> String.class;
            case BOOL -> Boolean.class;
        };
    }
}
