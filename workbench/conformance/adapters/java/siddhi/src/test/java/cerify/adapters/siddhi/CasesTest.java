package cerify.adapters.siddhi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Where Siddhi's words have the meaning of the query, and what is skipped; where they differ is in docs/findings/siddhi. */
class CasesTest {

    private static final SiddhiEngine ENGINE = new SiddhiEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
