package findings;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What rules of Drools answer: the findings of this page. */
public final class Findings {
    public static void main(String[] arguments) throws Exception {
        String chain = "$a : A() $b : B(this after $a) C(this after[1ms, 1ms] $b)";
        Rule.show(chain, "A", 0, 1L, "B", 1, 1L, "B", 2, 1L, "C", 3, 1L);
        Rule.show(chain, "A", 0, 1L, "B", 2, 1L, "C", 3, 1L);
        Rule.show(chain.replace("[1ms, 1ms]", "[1ms, 9ms]"), "A", 0, 1L, "B", 1, 1L, "B", 2, 1L, "C", 3, 1L);
        Rule.show("A(x == 9007199254740993L)", "A", 0, 9007199254740992L);
        for (String compared : List.of("==", "!=")) {
            Rule.show("$a : A() B(x " + compared + " $a.x)", "A", 0, 9007199254740992L, "B", 1, 9007199254740993L);
        }
        Rule.show("A(x > 9007199254740992L)", "A", 0, 9007199254740993L);
        for (int n : new int[] {29, 30}) {
            String used = IntStream.range(0, n).mapToObj(i -> "$e" + i).collect(Collectors.joining(", "));
            try {
                Rule.base(used.replace(",", " : A()") + " : A()", "found.add(java.util.List.of(" + used + "));");
                System.out.println(n + " variables compile");
            } catch (RuntimeException e) {
                System.out.println(n + " variables do not compile");
            }
        }
        for (String after : List.of("after", "after[0ms]")) {
            Rule.show("$a : A() B(this " + after + " $a)", "A", 0, 1L, "B", 0, 1L);
        }
        for (String guard : List.of("", "x != null && ")) {
            Rule.show("A(" + guard + "x != 1)", "A", 0, null);
        }
        Rule.show("A(x + 1 < 0)", "A", 0, Long.MAX_VALUE);
        Rule.show("$a : A() not B(this after[0ms, 10ms] $a)", "A", 0, 1L, "C", 5, 1L, "C", 11, 1L);
    }
}
