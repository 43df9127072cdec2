package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What Esper's skip-till-next-match answers where CEL's NXT answers something else: the README lists these. */
class NextTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "NXT(A ; B)     | A A B   | 2:[0, 2] 2:[1, 2]",
        "NXT(A ; B)     | A B B   | 1:[0, 1]",
        "NXT(A ; A)     | A A A   | 1:[0, 1] 2:[1, 2]",
        "NXT(A+ ; A)    | A A     | ''",
        "NXT(A+ ; B)    | A B A B | 1:[0, 1] 3:[2, 3]",
        "NXT(A ; B+ ; C) | A B B C | 3:[0, 1, 2, 3]",
    })
    void esperAnswers(String query, String stream, String expected) {
        assertEquals(expected.replace("''", ""), Runs.answer(Runs.ofTypes(query, stream)));
    }
}
