package cerify.adapters.protocol;

import java.util.Locale;

/** The types of attribute values; a timestamp is held as microseconds since 1970 in UTC. */
public enum AttributeType {
    INT,
    FLOAT,
    STRING,
    BOOL,
    TIMESTAMP;

    /** The type that a schema calls by this name. */
    public static AttributeType named(String name) {
        for (AttributeType type : values()) {
            if (type.name().toLowerCase(Locale.ROOT).equals(name)) {
                return type;
            }
        }
        throw new Problem(Problem.Code.ILL_FORMED, "the schema has an attribute of the unknown type '" + name + "'");
    }

    /** Whether values of the type are numbers. */
    public boolean isNumber() {
        return this == INT || this == FLOAT;
    }

    /** Whether values of the two types can be compared. */
    public boolean comparesWith(AttributeType other) {
        return this == other || isNumber() && other.isNumber();
    }
}
