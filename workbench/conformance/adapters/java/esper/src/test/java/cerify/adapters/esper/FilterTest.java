package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.json.JSONArray;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where EPL's null, kinds, scopes and quotes could come between a filter and its meaning. */
class FilterTest {

    private static final String STREAM = "[{'type':'A','x':1,'y':2,'s':'a\\\\b'},{'type':'A','x':2,'s':'it\\'s'},"
            + "{'type':'B','x':1,'b':true},{'type':'A','x':0,'y':0.5},{'type':'B','x':2,'b':false}]";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "A FILTER A.y > 1 | 0:[0]",
        "A FILTER A[not y > 1] | 1:[1] 3:[3]",
        "A FILTER A[not (1 / x > 0.5)] | 1:[1] 3:[3]",
        "A FILTER A[1 / x = 0.5] | 1:[1]",
        "A FILTER A.x = 'one' | ''",
        "A FILTER A.nothing = 1 | ''",
        "A FILTER A.s = 'it''s' OR A.s like 'a.b' | 0:[0] 1:[1]",
        "A FILTER A[s in {'it''s', 3}] | 1:[1]",
        "A FILTER A[x in range(1, 2) and x * x != 4] | 0:[0]",
        "B FILTER B.b = true | 2:[2]",
        "B FILTER B.b > false | ''",
        "A FILTER X.x > 9 | 0:[0] 1:[1] 3:[3]",
        "(A ; B) IN X FILTER X.x = 1 | 2:[0, 2]",
        "(A FILTER A.x = 1) ; A | 1:[0, 1] 3:[0, 3]",
        "(A ; B) FILTER A.x = B.x | 2:[0, 2] 4:[1, 4]",
        "(A+ ; B) FILTER A.x = B.x | 2:[0, 2] 4:[1, 4]",
        "(A+ ; B+) FILTER A.x >= B.x | 2:[0, 1, 2] 2:[0, 2] 2:[1, 2] 4:[1, 2, 4] 4:[1, 4]",
        "A+ FILTER A.x = A.x | 0:[0] 1:[1] 3:[3]",
        "(A OR B) FILTER A.x != B.x | 0:[0] 1:[1] 2:[2] 3:[3] 4:[4]",
    })
    void holdsWhereTheMeaningSaysSo(String query, String expected) {
        assertEquals(expected.replace("''", ""), Runs.answer(Runs.of(query, new JSONArray(STREAM))));
    }
}
