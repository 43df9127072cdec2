package cerify.adapters.sase;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import cerify.adapters.cel.SaseReader;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The text of query files. */
class QueryFileTest {

    static List<Case> files() throws IOException {
        return Case.of("files.jsonl");
    }

    @ParameterizedTest
    @MethodSource("files")
    void aConditionBeginsWithItsLastAttribute(Case given) {
        String expected = given.message().getString("file");
        assertEquals(expected, new QueryFile(SaseReader.query(given.run().tree())).text());
    }
}
