package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The queries of tods21, section 3, on the stream of Figure 1. */
class PaperTest {

    private static final String[] TYPES = "H T H H T T T H H".split(" ");
    private static final int[] IDS = {2, 0, 0, 1, 1, 0, 1, 1, 0};
    private static final int[] VALUES = {25, 45, 20, 25, 40, 42, 25, 70, 18};

    private static JSONArray figure1() {
        JSONArray events = new JSONArray();
        for (int i = 0; i < TYPES.length; i++) {
            String attribute = TYPES[i].equals("T") ? "tmp" : "hum";
            events.put(new JSONObject().put("type", TYPES[i]).put("id", IDS[i]).put(attribute, VALUES[i]));
        }
        return events;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "(T ; H) FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0 | 2:[1, 2] 8:[1, 8] 8:[5, 8]",
        "(T : H) FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0 | 2:[1, 2]",
        "STRICT((T ; H) FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0) | 2:[1, 2]",
        "((T ; H) OR (H ; T)) FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0 "
                + "| 2:[1, 2] 5:[2, 5] 8:[1, 8] 8:[5, 8]",
        "(H IN H1 ; T+ ; H IN H2) FILTER H1.hum < 30 AND H2.hum > 60 AND H.id = 1 AND T.id = 1 "
                + "| 7:[3, 4, 6, 7] 7:[3, 4, 7] 7:[3, 6, 7]",
        "(H IN H1 ; T:+ ; H IN H2) FILTER H1.hum < 30 AND H2.hum > 60 AND H.id = 1 AND T.id = 1 "
                + "| 7:[3, 4, 7] 7:[3, 6, 7]",
        "PROJECT[T]((H IN H1 ; T+ ; H IN H2) FILTER H1.hum < 30 AND H2.hum > 60 AND H.id = 1 AND T.id = 1) "
                + "| 7:[4] 7:[4, 6] 7:[6]",
        "(H IN H1 ; T+ ; H IN H2) FILTER H1.hum < 30 AND H2.hum > 60 AND H.id = T.id "
                + "| 7:[3, 4, 6, 7] 7:[3, 4, 7] 7:[3, 6, 7]",
    })
    void section3(String query, String expected) {
        assertEquals(expected, Runs.answer(Runs.of(query, figure1())));
    }
}
