package cerify.adapters.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.Set;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.api.Test;

class RunTest {

    private static Run run(String schema, String events) {
        return Run.of(new JSONObject()
                .put("language", "cel")
                .put("query", "A")
                .put("schema", schema == null ? JSONObject.NULL : new JSONObject(schema))
                .put("events", new JSONArray(events)));
    }

    @Test
    void integersBesideFloatsAreFloats() {
        Run run = run(null, "[{'type':'A','x':1},{'type':'B','x':2.5}]");
        assertEquals(Map.of("x", AttributeType.FLOAT), run.schema().attributes());
        assertEquals(1.0, run.events().get(0).attributes().get("x"));
    }

    @Test
    void anAttributeOfSeveralKindsHasNoType() {
        Run run = run(null, "[{'type':'A','x':1},{'type':'B','x':'1'}]");
        assertEquals(Set.of("x"), run.schema().mixed());
        assertEquals(Map.of(), run.schema().attributes());
    }

    @Test
    void timestampsAreMicrosecondsAndTimeNeedsNoDeclaration() {
        Run run = run("{'A':{'t':'timestamp'}}", "[{'type':'A','t':'1970-01-01T01:00:01+01:00','time':'1970-01-02'}]");
        assertEquals(1_000_000L, run.events().get(0).attributes().get("t"));
        assertEquals(86_400_000_000L, run.events().get(0).attributes().get("time"));
    }

    @Test
    void absentAndNullAreTheSame() {
        Run run = run("{'A':{'x':'int'}}", "[{'type':'A','x':null},{'type':'A'}]");
        assertEquals(run.events().get(0), run.events().get(1));
    }

    @Test
    void aValueThatIsNotOfItsTypeIsIllFormed() {
        Problem problem = assertThrows(Problem.class, () -> run("{'A':{'x':'int'}}", "[{'type':'A','x':'one'}]"));
        assertEquals(Problem.Code.ILL_FORMED, problem.code());
    }
}
