package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.meaning.RandomCases;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A setting that loses, repeats or delays a match in a row pattern shows on random streams of three types. */
class AllMatchesTest {

    private static final List<String> QUERIES = List.of(
            "A", "A ; A", "A ; B ; C", "A : B : C", "A ; (B : C)", "(A ; B) : C", "A+", "A:+", "A ; B+ ; A", "A : B:+ : A",
            "(A ; B)+", "(A ; B):+", "(A : B)+", "(A+ ; B)+", "(A:+ ; B):+", "A OR (B ; C)", "(A OR (A ; B))+", "(A OR B):+ ; C",
            "A{2}", "A{1,2}", "A{2,} ; B", "A:{2,3}", "(A ; B){1,2}", "(A : B):{2}");

    @Test
    void everyMatchOnceAndInTime() {
        RandomCases.Comparison comparison = new RandomCases(1).compare(new EsperEngine(), QUERIES, 6);
        assertEquals(Optional.empty(), comparison.difference());
        assertEquals(0, comparison.skipped());
    }
}
