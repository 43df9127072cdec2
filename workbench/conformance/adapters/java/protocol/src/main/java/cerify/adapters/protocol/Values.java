package cerify.adapters.protocol;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;

/** The values of attributes: as JSON has them, and as engines get them (Long, Double, String, Boolean). */
public final class Values {

    private Values() {}

    /** The attribute type that a JSON value shows. */
    public static AttributeType typeOf(Object json) {
        if (json instanceof Boolean) {
            return AttributeType.BOOL;
        }
        if (json instanceof String) {
            return AttributeType.STRING;
        }
        if (json instanceof Integer || json instanceof Long || json instanceof BigInteger) {
            return AttributeType.INT;
        }
        if (json instanceof Number) {
            return AttributeType.FLOAT;
        }
        throw new Problem(Problem.Code.ILL_FORMED, "an attribute is a number, a string or a boolean, not " + json);
    }

    /** The JSON value as one of the given type: Long for int and timestamp, Double, String or Boolean. */
    static Object converted(Object json, AttributeType type, String attribute, int position) {
        try {
            switch (type) {
                case INT -> {
                    if (json instanceof Number number) {
                        return new BigDecimal(number.toString()).longValueExact();
                    }
                }
                case FLOAT -> {
                    if (json instanceof Number number) {
                        return number.doubleValue();
                    }
                }
                case STRING -> {
                    if (json instanceof String text) {
                        return text;
                    }
                }
                case BOOL -> {
                    if (json instanceof Boolean truth) {
                        return truth;
                    }
                }
                case TIMESTAMP -> {
                    if (json instanceof String text) {
                        return microseconds(text);
                    }
                }
            }
        } catch (ArithmeticException | DateTimeParseException e) {
            // falls through to the one message below
        }
        throw new Problem(
                Problem.Code.ILL_FORMED,
                "event " + position + ": " + attribute + " is " + json + ", which is no " + type + " of 64 bits");
    }

    /** The microseconds since 1970 of an ISO 8601 text; one without an offset is taken as UTC. */
    public static long microseconds(String text) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, instant(text.strip().replace(' ', 'T')));
    }

    private static Instant instant(String text) {
        if (!text.contains("T")) {
            return LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant();
        }
        try {
            return OffsetDateTime.parse(text).toInstant();
        } catch (DateTimeParseException e) {
            return LocalDateTime.parse(text).toInstant(ZoneOffset.UTC);
        }
    }
}
