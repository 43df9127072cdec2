package cerify.adapters.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import org.json.JSONObject;
import org.junit.jupiter.api.Test;

class MessageLoopTest {

    /** Reports its only event twice, notes its translation, skips the query "skip", and fails on the query "die". */
    private static final class Stub extends Engine {

        Stub() {
            super("stub", "1", List.of("cel"), List.of());
        }

        @Override
        public Answer answer(Run run) {
            switch (run.query()) {
                case "skip" -> throw new Skip("not claimed", "https://example.org");
                case "die" -> throw new OutOfMemoryError("too large");
                case "parse" -> throw new Problem(Problem.Code.PARSE, "no query");
                default -> {
                    run.translated("select " + run.query());
                    TreeSet<Integer> events = new TreeSet<>(List.of(0));
                    TreeMap<String, java.util.SortedSet<Integer>> one = new TreeMap<>();
                    one.put("A", events);
                    TreeMap<String, java.util.SortedSet<Integer>> other = new TreeMap<>();
                    other.put("B", events);
                    return new Answer.Matches(
                            new TreeSet<>(List.of(new Match(0, events, one), new Match(0, events, other))));
                }
            }
        }
    }

    private static List<JSONObject> said(String... lines) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] input = String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
        new MessageLoop(new Stub()).run(new ByteArrayInputStream(input), new PrintStream(out, true, StandardCharsets.UTF_8));
        return out.toString(StandardCharsets.UTF_8).lines().map(JSONObject::new).toList();
    }

    private static String run(String query, String output) {
        return "{\"cmd\":\"run\",\"id\":\"1\",\"language\":\"cel\",\"query\":\"" + query
                + "\",\"schema\":null,\"events\":[{\"type\":\"A\",\"x\":1}],\"output\":\"" + output + "\"}";
    }

    @Test
    void matchesThatDifferInBindingsAloneAreOneMatch() throws IOException {
        assertEquals(1, said(run("A", "matches")).get(0).getJSONArray("matches").length());
        assertEquals(2, said(run("A", "valuations")).get(0).getJSONArray("matches").length());
    }

    @Test
    void anAnswerHasTheTranslation() throws IOException {
        assertEquals("select A", said(run("A", "matches")).get(0).getString("translation"));
        assertFalse(said(run("skip", "matches")).get(0).has("translation"));
    }

    @Test
    void aMeasuredRunIsAnsweredWithTheNumberOfItsMatches() throws IOException {
        JSONObject answer = said(run("A", "valuations").replace("\"run\"", "\"measure\"")).get(0);
        assertEquals("1", answer.getString("id"));
        assertEquals(2, answer.getInt("count"));
        assertTrue(answer.getJSONObject("cpu").keySet().containsAll(List.of("thread", "process")));
        assertEquals("not claimed", said(run("skip", "matches").replace("\"run\"", "\"measure\"")).get(0).get("skipped"));
    }

    @Test
    void whateverAnEngineThrowsIsAnAnswer() throws IOException {
        List<JSONObject> answers = said(run("skip", "matches"), run("die", "matches"), run("parse", "matches"));
        assertEquals("not claimed", answers.get(0).getString("skipped"));
        assertEquals("budget", answers.get(1).getJSONObject("error").getString("code"));
        assertEquals("parse", answers.get(2).getJSONObject("error").getString("code"));
    }

    @Test
    void badLinesAreAnsweredAndTheConversationGoesOn() throws IOException {
        List<JSONObject> answers = said(
                "garbage",
                "",
                "[1]",
                "{\"cmd\":\"dance\",\"id\":\"7\"}",
                "{\"cmd\":\"run\",\"id\":\"8\"}",
                "{\"cmd\":\"start\",\"protocol\":1}",
                "{\"cmd\":\"stop\"}",
                "{\"cmd\":\"start\",\"protocol\":1}");
        assertEquals(5, answers.size());
        assertTrue(answers.get(0).isNull("id"));
        assertEquals("7", answers.get(2).getString("id"));
        assertEquals("internal", answers.get(3).getJSONObject("error").getString("code"));
        assertEquals("stub", answers.get(4).getJSONObject("engine").getString("name"));
    }

    @Test
    void anUnknownLanguageOrProtocolIsAnError() throws IOException {
        List<JSONObject> answers =
                said(run("A", "matches").replace("cel", "sase"), "{\"cmd\":\"start\",\"protocol\":2}");
        assertEquals("unsupported", answers.get(0).getJSONObject("error").getString("code"));
        assertTrue(answers.get(1).has("error"));
    }
}
