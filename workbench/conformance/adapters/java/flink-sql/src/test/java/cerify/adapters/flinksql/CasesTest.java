package cerify.adapters.flinksql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The clause in Flink's words, its table and its rows, through Flink itself, where it agrees with the definition. */
class CasesTest {

    private static final FlinkSqlEngine ENGINE = new FlinkSqlEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
