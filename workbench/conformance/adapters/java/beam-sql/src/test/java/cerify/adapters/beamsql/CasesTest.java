package cerify.adapters.beamsql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The clause in Beam's words, its rows and what it refuses, through Beam itself, where it agrees with the definition. */
class CasesTest {

    private static final BeamSqlEngine ENGINE = new BeamSqlEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
