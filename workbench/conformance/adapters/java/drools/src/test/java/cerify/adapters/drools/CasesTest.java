package cerify.adapters.drools;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Rules for each operator through Drools itself, where it agrees with the definition. */
class CasesTest {

    private static final DroolsEngine ENGINE = new DroolsEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
