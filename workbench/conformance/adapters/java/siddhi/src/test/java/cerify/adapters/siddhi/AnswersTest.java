package cerify.adapters.siddhi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import cerify.adapters.meaning.RandomCases;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Match;
import cerify.adapters.protocol.Run;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What Siddhi answers where its words mean the query, and what is skipped; where it differs is in docs/findings/siddhi. */
class AnswersTest {

    private static final SiddhiEngine ENGINE = new SiddhiEngine();

    @Test
    void sequencesHaveTheMatchesOfContiguousFormulas() {
        List<String> queries = List.of(
                "A", "A OR B", "A : B : C", "(A : B) OR (C : A)", "A : B:+ : A", "PROJECT[A](A : B)",
                "(A : B) FILTER A.x = B.x", "(A : B) FILTER A.x > B.x + 1", "(A FILTER A.x > 0) : B", "STRICT(A ; B)");
        assertEquals(Optional.empty(), new RandomCases(5).compare(ENGINE, queries, 8).difference());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "SEQ(A a, B b) | A A B D B | 2:[0, 2] 2:[1, 2]",
        "SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { } | A D A B B | 3:[0, 2, 3] 3:[2, 3]",
        "SEQ(A a, B b) WHERE strict_contiguity(a, b) { } | A A B A | 2:[1, 2]",
        "SEQ(A a, ~C c, B b) | A C B A B | 4:[3, 4]",
        "SEQ(A a, B b) WHERE a.x < b.x | A B A B | 1:[0, 1] 3:[2, 3]",
        "SEQ(A a, B b) WITHIN 2 seconds | A D D B | ''",
    })
    void patternsAreSkipTillNextMatch(String query, String stream, String expected) {
        Answer.Matches answer = assertInstanceOf(Answer.Matches.class, answer(query, stream));
        StringJoiner text = new StringJoiner(" ");
        for (Match match : answer.matches()) {
            text.add(match.at() + ":" + match.events());
        }
        assertEquals(expected.replace("''", ""), text.toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "SEQ(A+ a[], B b)", "SEQ(A a, B b) WHERE skip_till_any_match(a, b) { }", "SEQ(A a, ~B b)", "SEQ(~A a, B b)",
        "SEQ(A+ a[]) WHERE skip_till_next_match(a[]!) { }"
    })
    void isSkipped(String query) {
        assertInstanceOf(Answer.Skipped.class, answer(query, "A B"));
    }

    private static Answer answer(String query, String stream) {
        JSONArray events = new JSONArray();
        for (String type : stream.split(" ")) {
            int i = events.length();
            events.put(new JSONObject().put("type", type).put("x", i).put("time", i));
        }
        return Answer.to(
                Run.of(new JSONObject()
                        .put("language", "sase")
                        .put("query", "PATTERN " + query + " RETURN 1 AS one")
                        .put("events", events)),
                ENGINE);
    }
}
