package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.protocol.Answer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What has no translation is skipped with a reason and a page of the manual, and is never answered wrongly. */
class SkipTest {

    @ParameterizedTest
    @ValueSource(strings = {
        "START(A)", "A AND B", "A ALL B", "A UNLESS B", "LAST(A ; B)", "MAX(A+)", "A ; NXT(B ; C)", "A WITHIN 3 EVENTS",
        "A PARTITION BY [x]", "NXT(A : B)", "NXT((A ; B)+ ; C)", "NXT(A ; B+)", "NXT((A+ ; B) FILTER A.x = B.x)",
        "((A ; B) FILTER A.x = B.x)+", "PROJECT[A](A ; B) : C", "STRICT(PROJECT[A](A ; B))", "A FILTER near(A, A)"
    })
    void isSkipped(String query) {
        Answer answer = Answer.to(Runs.ofTypes(query, "A B"), new EsperEngine());
        Answer.Skipped skipped = assertInstanceOf(Answer.Skipped.class, answer);
        assertTrue(skipped.link().contains("reference-esper"));
    }
}
