package cerify.adapters.sase;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.cases.Case;
import cerify.adapters.cel.SaseReader;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** With the definition in the place of SASE, the translation has the matches of the query. */
class MeaningTest {

    static List<Case> files() throws IOException {
        return Case.of("files.jsonl");
    }

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(new SaseEngine(new FileMeaning(), "test")));
    }

    @Test
    void aFaultOfTheSearchIsSeen() throws IOException {
        Search fault = (query, stream, receiver) ->
                new FileMeaning().run(query.replace("skip-till-any-match", "skip-till-next-match"), stream, receiver);
        SaseEngine engine = new SaseEngine(fault, "test");
        assertTrue(Case.all().stream().anyMatch(given -> !given.expected().equals(given.answer(engine))));
    }

    @ParameterizedTest
    @MethodSource("files")
    void aConditionBeginsWithItsLastAttribute(Case given) {
        String expected = given.message().getString("file");
        assertEquals(expected, new QueryFile(SaseReader.query(given.run().tree())).text());
    }
}
