package cerify.adapters.cel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.protocol.Run;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The rules of values: docs/decisions/values.md. */
class TruthTest {

    private static final String EVENT = "[{'type':'A','big':9007199254740993,'half':0.5,'two':2,'zero':0,'s':'it\\'s',"
            + "'yes':true,'t':'1970-01-01T00:00:01Z','astral':'\\ud835\\udc9c','time':1}]";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "big = 9007199254740992.0 | false",
        "big > 9007199254740992.0 | true",
        "half = 0.5               | true",
        "two / 4 = half           | true",
        "big * big > big          | true",
        "1 / zero = 1             | false",
        "not 1 / zero = 1         | true",
        "nothing = 1              | false",
        "nothing != 1             | false",
        "two != 'two'             | false",
        "yes = true and yes != false | true",
        "yes > false              | false",
        "s like 'it.s' and not s like 'it' | true",
        "s in {1, 'it''s'}        | true",
        "two in range(1, 2)       | true",
        "astral > '\uffee'        | true",
        "time = 1                 | true",
    })
    void aPredicateOnOneEvent(String predicate, boolean expected) {
        Run run = Run.of(new JSONObject()
                .put("language", "cel")
                .put("query", "A FILTER A[" + predicate + "]")
                .put("events", new JSONArray(EVENT)));
        Formula.Filter filter = (Formula.Filter) CelParser.parse(run.query());
        Predicate parsed = ((Condition.Every) filter.condition()).predicate();
        assertEquals(expected, new Truth(run.schema()).of(parsed, run.events().get(0)));
    }
}
