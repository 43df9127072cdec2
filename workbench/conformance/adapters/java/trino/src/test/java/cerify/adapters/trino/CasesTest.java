package cerify.adapters.trino;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import cerify.adapters.cases.Case;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Values, names and rows through Trino itself, where it agrees with the definition, and what it refuses. */
class CasesTest {

    private static TrinoEngine engine;

    @BeforeAll
    static void start() {
        try {
            engine = new TrinoEngine();
        } catch (UnsupportedClassVersionError e) {
            assumeTrue(false, "this Trino needs a newer Java: -Djvm=PROGRAM names one");
        }
    }

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(engine));
    }
}
