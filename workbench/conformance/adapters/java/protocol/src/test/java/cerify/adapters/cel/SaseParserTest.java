package cerify.adapters.cel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import cerify.adapters.protocol.Problem;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SaseParserTest {

    @ParameterizedTest
    @ValueSource(strings = {
        "PATTERN SEQ(A a)",
        "PATTERN SEQ(A a, B+ b[]) WITHIN 2 seconds",
        "PATTERN SEQ(A a, ~B b, C c) WHERE [x] and c.x > a.x",
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { a.x = 1 } WITHIN 2 minutes",
    })
    void withoutReturnAQueryIsTheSameButForItsResult(String text) {
        SaseQuery with = SaseParser.parse(text + " RETURN 1 AS one");
        SaseQuery without = SaseParser.parse(text);
        assertEquals(Map.of("one", 1L), with.result());
        assertEquals(Map.of(), without.result());
        assertEquals(
                with,
                new SaseQuery(
                        without.components(),
                        without.strategy(),
                        without.cut(),
                        without.conditions(),
                        without.equivalences(),
                        without.window(),
                        with.result()));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "PATTERN SEQ(A a) RETURN",
        "PATTERN SEQ(A a) WHERE strict_contiguity(a) { a.x = 1",
        "PATTERN SEQ(A a) WHERE a.x =",
        "PATTERN SEQ(A a",
    })
    void aTextThatStopsTooEarlyIsRefused(String text) {
        Problem problem = assertThrows(Problem.class, () -> SaseParser.parse(text));
        assertEquals(Problem.Code.UNSUPPORTED, problem.code());
    }

    @Test
    void aResultOfAttributesIsNotRead() {
        assertEquals(null, SaseParser.parse("PATTERN SEQ(A a, B+ b[]) RETURN a.x, b[].(x, y) AS all").result());
        assertThrows(Problem.class, () -> SaseParser.parse("PATTERN SEQ(A a) RETURN a.x UNION PATTERN SEQ(B a) RETURN a.x"));
        assertThrows(Problem.class, () -> SaseParser.parse("PATTERN SEQ(A a) RETURN NON-OVERLAP r(a.x AS x)"));
    }

    @Test
    void aConstantOfReturnNeedsAName() {
        assertThrows(Problem.class, () -> SaseParser.parse("PATTERN SEQ(A a) RETURN 1"));
    }
}
