package cerify.adapters.calcite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What Calcite refuses, and the table of each case through Calcite: literals, types and values. */
class CasesTest {

    private static final CalciteEngine ENGINE = new CalciteEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theTableComesOutAsItWasSent(Case given) {
        JSONObject sql = given.message().getJSONObject("sql");
        String statement = sql.getJSONArray("statements").getString(0);
        String table = statement.substring(0, statement.indexOf(" MATCH_RECOGNIZE ("));
        JSONArray columns = new JSONArray();
        sql.getJSONArray("columns").forEach(column -> columns.put(((JSONObject) column).getString("name")));
        JSONArray sent = new JSONArray().put(new JSONObject().put("columns", columns).put("rows", sql.getJSONArray("rows")));
        Case of = new Case(new JSONObject(given.message(), JSONObject.getNames(given.message()))
                .put("sql", new JSONObject().put("statements", new JSONArray().put(table)))
                .put("skipped", false)
                .put("tables", sent));
        assertEquals(of.expected(), of.answer(ENGINE));
    }

    @Test
    void theDefaultIsLeftOutAndNoLiteralIsChanged() {
        String written = "ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (A) DEFINE A AS s = 'it''s SHOW EMPTY MATCHES'";
        String expected = "ALL ROWS PER MATCH PATTERN (A) DEFINE A AS s = 'it''s SHOW EMPTY MATCHES'";
        assertEquals(expected, CalciteEngine.withoutDefault(written));
    }
}
