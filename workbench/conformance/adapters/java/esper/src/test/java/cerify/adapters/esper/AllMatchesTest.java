package cerify.adapters.esper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cerify.adapters.cel.CelParser;
import java.util.Arrays;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A setting that loses, repeats or delays a match in a row pattern shows on random streams of three types. */
class AllMatchesTest {

    private static final int STREAMS = 6;
    private static final int LENGTH = 7;

    @ParameterizedTest
    @ValueSource(strings = {
        "A", "A ; A", "A ; B ; C", "A : B : C", "A ; (B : C)", "(A ; B) : C", "A+", "A:+", "A ; B+ ; A", "A : B:+ : A",
        "(A ; B)+", "(A ; B):+", "(A : B)+", "(A+ ; B)+", "(A:+ ; B):+", "A OR (B ; C)", "(A OR (A ; B))+", "(A OR B):+ ; C"
    })
    void everyMatchOnceAndInTime(String query) {
        Random random = new Random(query.hashCode());
        for (int i = 0; i < STREAMS; i++) {
            String[] stream = random.ints(LENGTH, 0, 3).mapToObj(t -> "ABC".substring(t, t + 1)).toArray(String[]::new);
            String expected = new Meaning(stream).of(CelParser.parse(query));
            String got = Runs.answer(Runs.ofTypes(query, String.join(" ", stream)));
            assertEquals(expected, String.join(" ", sorted(got)), query + " on " + Arrays.toString(stream));
        }
    }

    private static TreeSet<String> sorted(String matches) {
        return new TreeSet<>(Arrays.asList(matches.split(" (?=\\d+:)")));
    }
}
