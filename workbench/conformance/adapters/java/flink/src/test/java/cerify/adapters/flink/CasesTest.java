package cerify.adapters.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Patterns without groups and windows, where Flink agrees with the definition, and what is skipped. */
class CasesTest {

    private static final FlinkEngine ENGINE = new FlinkEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
