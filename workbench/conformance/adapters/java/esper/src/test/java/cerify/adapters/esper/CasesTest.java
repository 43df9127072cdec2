package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Where Esper's words have the meaning of the query, where its NXT differs, and what is skipped. */
class CasesTest {

    private static final EsperEngine ENGINE = new EsperEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
