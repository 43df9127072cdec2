package cerify.adapters.template;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.meaning.RandomCases;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The translation that the adapters share, with a search by definition in the place of an engine. */
class MeaningTest {

    @Test
    void theChainsOfAFormulaHaveItsMatches() {
        RandomCases cases = new RandomCases(21);
        RandomCases.Comparison comparison = cases.compare(new TemplateEngine(), cases.queries(400, 4), 4);
        assertEquals(Optional.empty(), comparison.difference());
        assertTrue(comparison.answered() > comparison.skipped());
    }
}
