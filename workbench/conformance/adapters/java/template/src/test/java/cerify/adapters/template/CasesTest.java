package cerify.adapters.template;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cases.Case;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The reader and the translation that the adapters share, with a search by definition in the place of an engine. */
class CasesTest {

    private static final TemplateEngine ENGINE = new TemplateEngine();

    @ParameterizedTest
    @MethodSource("cerify.adapters.cases.Case#all")
    void theAnswerIsTheExpectedOne(Case given) {
        assertEquals(given.expected(), given.answer(ENGINE));
    }
}
