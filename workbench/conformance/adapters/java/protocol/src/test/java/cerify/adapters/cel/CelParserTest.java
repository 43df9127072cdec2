package cerify.adapters.cel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Span;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CelParserTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "A ; B ; C              | (A ; B) ; C",
        "A ; B+ OR C            | (A ; (B+)) OR C",
        "A OR B FILTER A.x > 1  | (A OR B) FILTER A.x > 1",
        "A IN X+                | (A IN X)+",
        "A ⊕                    | A:+",
        "A AS X                 | A IN X",
        "π[X](A)                | PROJECT[X](A)",
        "NEXT(A)                | NXT(A)",
        "A FILTER A.x ≤ 1 ∧ A.y ≠ 2 ∨ A.z ≥ 3 | A FILTER (A.x <= 1 AND A.y != 2) OR A.z >= 3",
        "A FILTER A[not x = 1 and y = 2 or z = 3] | A FILTER A[((not (x = 1)) and (y = 2)) or (z = 3)]",
        "A FILTER (A.x + 1) * 2 > 3 | A FILTER ((A.x + 1) * 2) > 3",
        "A FILTER A.x > 1 FILTER A.y > 2 | ((A FILTER A.x > 1) FILTER A.y > 2)",
        "A FILTER A[x = - 1]    | A FILTER (A[(x = -1)])",
        "A WITHIN 4 hours       | A WITHIN 4 hour",
        "A{1,}                  | A+",
        "A:{1,} ; B{2}          | (A:+) ; (B{2,2})",
    })
    void theTwoTextsAreTheSameFormula(String text, String same) {
        assertEquals(CelParser.parse(same), CelParser.parse(text));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "A ; B : C           | 6 | 7",
        "A OR B AND C        | 7 | 10",
        "A ;                 | 3 | 3",
        "A FILTER x > 1      | 9 | 14",
        "A FILTER A.s = 'a   | 15 | 17",
        "A FILTER A[B.x > 1] | 9 | 19",
        "A FILTER A.s like '(' | 18 | 21",
        "𝒜 ; ?               | 4 | 5",
        "A{2,x}              | 4 | 5",
    })
    void anErrorKnowsItsPlaceInCodePoints(String text, int start, int end) {
        Problem problem = assertThrows(Problem.class, () -> CelParser.parse(text));
        assertEquals(Problem.Code.PARSE, problem.code());
        assertEquals(new Span(start, end), problem.span());
    }

    @Test
    void aQuoteInAStringIsWrittenTwice() {
        Formula.Filter filter = (Formula.Filter) CelParser.parse("A FILTER A[s = 'it''s']");
        Condition.Every every = (Condition.Every) filter.condition();
        Predicate.Comparison comparison = (Predicate.Comparison) every.predicate();
        assertEquals("it's", ((Term.Constant) comparison.right()).value());
    }
}
