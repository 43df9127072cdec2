package cerify.adapters.flink;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Run;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the Pattern API cannot express is skipped with a reason and a section of the manual. */
class SkipTest {

    @ParameterizedTest
    @ValueSource(strings = {
        "START(A)", "A AND B", "A ALL B", "A UNLESS B", "LAST(A ; B)", "MAX(A+)", "NXT(A ; B)", "A WITHIN 3 EVENTS",
        "(A OR (B ; C))+", "((A ; B) FILTER A.x = B.x)+", "PROJECT[A](A ; B) : C", "A FILTER near(A, A)",
        "A WITHIN 1 second", "PROJECT[A](A ; B) PARTITION BY [x]", "A FILTER A.m = 1"
    })
    void isSkipped(String query) {
        JSONArray events = new JSONArray("[{'type':'A','m':1},{'type':'B','m':'1'}]"); // no time, m of two types
        Run run = Run.of(new JSONObject().put("language", "cel").put("query", query).put("events", events));
        Answer.Skipped skipped = assertInstanceOf(Answer.Skipped.class, Answer.to(run, new FlinkEngine()));
        assertTrue(skipped.link().contains("#"));
    }
}
