package cerify.adapters.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cerify.adapters.meaning.RandomCases;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Where Flink agrees with the definition: patterns without groups and windows. Groups are findings, docs/findings/flink. */
class MeaningTest {

    private static final List<String> QUERIES = List.of(
            "A", "A ; A", "A ; B ; C", "A : B : C", "A ; (B : C)", "(A ; B) : C", "A+", "A:+", "A ; B+ ; A", "A : B:+ : A",
            "A{2}", "A{2,3} ; B", "B ; A:{2,}", "A{2,}", "(A OR B)+ ; C", "(A OR B):+ : C", "A OR (B ; C)", "A ; (B OR (C : A))",
            "PROJECT[A](A ; B)", "(A+ ; B) FILTER A.x = B.x", "(A ; B+ ; A) FILTER A.x <= B.x", "(A:+ ; B) PARTITION BY [x]",
            "(A FILTER A.x > 0) ; (A FILTER A.x < 2 OR A.x = 2)", "STRICT(A ; B+)", "(A ; B+) IN X FILTER X[x > 0]");

    @Test
    void patternsWithoutGroupsHaveTheMatchesOfTheFormula() {
        RandomCases.Comparison comparison = new RandomCases(3).compare(new FlinkEngine(), QUERIES, 8);
        assertEquals(Optional.empty(), comparison.difference());
        assertEquals(0, comparison.skipped());
        assertTrue(comparison.answered() > 0);
    }
}
