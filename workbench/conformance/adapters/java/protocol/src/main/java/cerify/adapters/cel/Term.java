package cerify.adapters.cel;

import cerify.adapters.protocol.AttributeType;
import java.io.Serializable;
import java.util.List;
import java.util.stream.Stream;

/** What is compared. */
public sealed interface Term extends Serializable {

    /** An attribute; the variable is null inside brackets. */
    record Attribute(String variable, String name) implements Term {}

    /** A value written in the query: Long (also for a timestamp, in microseconds), Double, String or Boolean. */
    record Constant(Object value, AttributeType type) implements Term {}

    /** left operator right, over numbers; the operator is one of {@code + - * /}. */
    record Arithmetic(String operator, Term left, Term right) implements Term {}

    /** The attributes that are mentioned, left to right, with repetitions. */
    default List<Attribute> mentions() {
        if (this instanceof Attribute attribute) {
            return List.of(attribute);
        }
        if (this instanceof Arithmetic a) {
            return Stream.concat(a.left().mentions().stream(), a.right().mentions().stream()).toList();
        }
        return List.of();
    }
}
