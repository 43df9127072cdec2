package cerify.adapters.esper;

import cerify.adapters.outline.Constraint;
import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Plain formulas as match_recognize: a row pattern over all events, with the settings under which Esper reports every
 * match.
 *
 * <ul>
 *   <li>{@code all matches}: without it, Esper keeps one of the matches that begin at the same event.
 *   <li>{@code after match skip to current row}: the other settings end partial matches when a match is reported.
 *   <li>{@code gap*?} between the sides of {@code ;}, where the gap has no definition and so takes any event, and nothing
 *       between the sides of {@code :}. Under all matches, reluctant and greedy gaps report the same set; a reluctant
 *       one says what is meant, to go on as soon as the next event fits.
 *   <li>No {@code interval}, so that a match is reported at its last event; no {@code partition by}, for there is one
 *       stream; no {@code order by}, for the order is that of arrival.
 * </ul>
 *
 * <p>{@code phi+} is {@code phi (gap*? phi)*}: gaps belong between the rounds, and not before the first. A constraint
 * goes to the define clause of its last definition, where an event of that sees all others. Where both sides are
 * iterated that does not do; it is then a measure, by which a second statement selects. Names of gaps and of such
 * measures end in an underscore, those of definitions in a digit.
 */
final class RowRecognition {

    private final Outline outline;
    private final Expressions expressions;
    private int gaps;

    private RowRecognition(Outline outline, EventType type) {
        this.outline = outline;
        this.expressions = new Expressions(type);
    }

    /** The EPL module, whose statement of the name {@link EplModule#MATCHES} has a property for each definition. */
    static String epl(Outline outline, EventType type) {
        return new RowRecognition(outline, type).module();
    }

    private String module() {
        List<Definition> definitions = outline.definitions();
        List<String> measures = new ArrayList<>();
        List<String> defines = new ArrayList<>();
        for (Definition definition : definitions) {
            measures.add(EplModule.positions(definition) + " as " + definition.name());
            defines.add(definition.name() + " as " + condition(definition));
        }
        List<String> kept = new ArrayList<>();
        for (Constraint constraint : outline.constraints()) {
            if (!constraint.isTestedAtLast()) {
                String name = "kept" + (kept.size() + 1) + "_";
                kept.add(name);
                measures.add(quantified(constraint, null) + " as " + name);
            }
        }
        String recognition = "select * from " + EventType.NAME + " match_recognize (\n"
                + "  measures " + String.join(",\n    ", measures) + "\n"
                + "  all matches\n"
                + "  after match skip to current row\n"
                + "  pattern (" + pattern(outline.shape()) + ")\n"
                + "  define " + String.join(",\n    ", defines) + ")";
        return kept.isEmpty()
                ? EplModule.named(recognition)
                : "insert into Candidate " + recognition + ";\n"
                        + EplModule.named("select * from Candidate where " + String.join(" and ", kept));
    }

    private String pattern(Shape shape) {
        if (shape instanceof Shape.One one) {
            return one.definition().name();
        }
        if (shape instanceof Shape.Then then) {
            return pattern(then.left()) + " " + gap(then.contiguous()) + pattern(then.right());
        }
        if (shape instanceof Shape.Choice choice) {
            return "(" + String.join(" | ", choice.shapes().stream().map(this::pattern).toList()) + ")";
        }
        Shape.Repeat repeat = (Shape.Repeat) shape;
        String round = pattern(repeat.shape());
        if (repeat.contiguous()) {
            return "(" + round + ")" + quantifier(repeat.least(), repeat.most());
        }
        if (repeat.most() == 1) {
            return "(" + round + ")";
        }
        return round + " (" + gap(false) + round + ")" + quantifier(repeat.least() - 1, Math.max(0, repeat.most() - 1));
    }

    private static String quantifier(int least, int most) {
        if (most == 0 && least <= 1) {
            return least == 0 ? "*" : "+";
        }
        return "{" + (least == 0 ? "" : least) + "," + (most == 0 ? "" : most) + "}"; // EPL refuses a written 0
    }

    private String gap(boolean contiguous) {
        return contiguous ? "" : "gap" + ++gaps + "_*? ";
    }

    private String condition(Definition definition) {
        String name = definition.name() + ".";
        List<String> conditions = new ArrayList<>();
        conditions.add(Expressions.hasType(name, definition.type()));
        definition.conditions().forEach(p -> conditions.add(
                expressions.of(p, Collections.nCopies(p.mentions().size(), name))));
        for (Constraint constraint : outline.constraints()) {
            if (constraint.isTestedAtLast() && constraint.last() == definition) {
                conditions.add(quantified(constraint, definition));
            }
        }
        return String.join(" and ", conditions);
    }

    /** The constraint for all events of its definitions but the current one, of which there is one event to test. */
    private String quantified(Constraint constraint, Definition current) {
        List<String> prefixes = new ArrayList<>();
        StringBuilder opening = new StringBuilder();
        StringBuilder closing = new StringBuilder();
        for (Definition definition : constraint.definitions()) {
            String name = definition.name();
            if (definition != current && definition.isOptional()) {
                opening.append("(").append(name).append(" is null or ");
                closing.append(")");
            }
            if (definition != current && definition.isIterated()) {
                String event = "e" + prefixes.size();
                opening.append(name).append(".allOf(").append(event).append(" => ");
                closing.append(")");
                prefixes.add(event + ".");
            } else {
                prefixes.add(name + ".");
            }
        }
        return opening + "(" + expressions.of(constraint.predicate(), prefixes) + ")" + closing;
    }
}
