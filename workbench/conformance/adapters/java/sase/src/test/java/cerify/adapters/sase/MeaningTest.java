package cerify.adapters.sase;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** With the definition in the place of SASE, the translation has the matches that the suite expects. */
class MeaningTest {

    private static final Path SUITE = Path.of("..", "..", "..", "suite", "sase.jsonl");

    @Test
    void theQueryFilesHaveTheMatchesOfTheSuite() throws IOException {
        assertTrue(compared(new FileMeaning()) > 150);
    }

    @Test
    void aFaultOfTheSearchIsSeen() {
        Search fault = (query, stream, receiver) ->
                new FileMeaning().run(query.replace("skip-till-any-match", "skip-till-next-match"), stream, receiver);
        AssertionError error = null;
        try {
            compared(fault);
        } catch (AssertionError e) {
            error = e;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        assertNotEquals(null, error);
    }

    private static int compared(Search search) throws IOException {
        int answered = 0;
        for (String line : Files.readAllLines(SUITE)) {
            JSONObject given = new JSONObject(line);
            Answer answer = answer(given.put("output", "matches"), search);
            if (answer instanceof Answer.Failed failed) {
                assertEquals("unsupported", failed.problem().code().text(), given.getString("id"));
            }
            if (answer instanceof Answer.Matches found) {
                assertEquals(expected(given.getJSONArray("matches")), positions(found), given.getString("id"));
                answered++;
            }
        }
        return answered;
    }

    private static Answer answer(JSONObject run, Search search) {
        return Answer.to(Run.of(run), new SaseEngine(search, "test"));
    }

    private static Set<String> expected(JSONArray matches) {
        Set<String> expected = new TreeSet<>();
        for (int i = 0; i < matches.length(); i++) {
            JSONObject match = matches.getJSONObject(i);
            expected.add(match.getInt("at") + ":" + new TreeSet<>(match.getJSONArray("events").toList()));
        }
        return expected;
    }

    private static Set<String> positions(Answer.Matches found) {
        Set<String> positions = new TreeSet<>();
        for (Match match : found.matches()) {
            positions.add(match.at() + ":" + match.events());
        }
        return positions;
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "SEQ(A a, B b) WHERE strict_contiguity(a, b) { }", "SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { }",
        "SEQ(A a, ~B b)", "SEQ(A a, ~B+ b[], C c)", "SEQ(A a, B b) WHERE partition_contiguity(a, b) { }",
        "SEQ(A a, ~B b, C c) WHERE b.x < c.x", "SEQ(A a, B b) WHERE b.y = 1", "SEQ(A a, B b) WITHIN 1.5 seconds",
        "SEQ(A+ a[], B b) WHERE a[1].x < a[i].x", "SEQ(A a, B b) WHERE a.x + b.x = 3", "SEQ(A a, B b) WHERE b.x = 1.5"})
    void isSkipped(String query) {
        JSONArray events = new JSONArray();
        for (String type : "A B C".split(" ")) {
            events.put(new JSONObject().put("type", type).put("x", 1).put("time", 1));
        }
        JSONObject run = new JSONObject().put("language", "sase").put("query", "PATTERN " + query).put("events", events);
        assertInstanceOf(Answer.Skipped.class, answer(run, new FileMeaning()));
    }

    @Test
    void aConditionBeginsWithItsLastAttribute() {
        String query = "PATTERN SEQ(A x, B+ ys[], C z) WHERE x.p < 3 and ys[i].p >= ys[i-1].p and ys[i].q != -2 "
                + "and x.p + 1 < z.p and ys[ys.LEN].q = z.q WITHIN 1 minutes";
        assertEquals(
                String.join("\n", "PATTERN SEQ(A a, B+ b[], C c)", "WHERE skip-till-next-match", "AND a.p < 3",
                        "AND b[i].p >= b[i-1].p", "AND b[1].q != 0-2", "AND b[i].q != 0-2", "AND c.p > a.p+1",
                        "AND c.q = b[i-1].q", "WITHIN 60", ""),
                new QueryFile(cerify.adapters.cel.SaseParser.parse(query)).text());
    }
}
