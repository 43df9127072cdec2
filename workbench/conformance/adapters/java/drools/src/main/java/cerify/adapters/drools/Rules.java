package cerify.adapters.drools;

import cerify.adapters.cel.Formula;
import cerify.adapters.cel.Formula.Window.Measure;
import cerify.adapters.cel.FormulaReader;
import cerify.adapters.cel.Predicate;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Constraint;
import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Shape;
import cerify.adapters.protocol.AttributeType;
import cerify.adapters.protocol.Run;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * A query of CEL as rules, one for each chain: a pattern for each event.
 *
 * <p>The time of an event in Drools is its position, so that order, neighbours and windows of events are intervals of
 * {@code after}. If the query has a window of time it is the attribute time, and positions are compared as numbers.
 */
final class Rules {

    private static final long UNBOUNDED = Long.MAX_VALUE;
    private static final int MOST_BINDINGS = 29; // with more the consequence does not compile

    private final Hoisted hoisted;
    private final List<Absence> absences = new ArrayList<>();
    private final DroolsClaims claims = new DroolsClaims();
    private final Conditions conditions;
    private final TreeSet<String> types = new TreeSet<>();
    final boolean timed;
    final Outline outline;
    final List<List<Definition>> chains = new ArrayList<>();
    final String text;

    Rules(Run run) {
        conditions = new Conditions(run.schema());
        hoisted = Hoisted.of(Absence.taken(FormulaReader.formula(run.tree()), 0, absences));
        timed = hoisted.windows().stream().anyMatch(window -> window.measure() == Measure.TIME);
        if (hoisted.windows().stream().anyMatch(window -> window.measure() == Measure.ATTRIBUTE)) {
            throw DroolsClaims.skip("an interval of after is one of time");
        }
        outline = Binder.outline(hoisted.phi(), claims);
        StringBuilder rules = new StringBuilder();
        for (Chain chain : Chain.of(outline.shape(), claims::iteration)) {
            rules.append(rule(chain));
        }
        text = "package cerify;\nglobal java.util.List found;\n"
                + types.stream().map(type -> declaration(type, run)).collect(Collectors.joining()) + rules;
    }

    /** The name of the type of an event in Drools; null if no rule has it. */
    String type(String type) {
        String name = Conditions.identifier("E_", type);
        return types.contains(name) ? name : null;
    }

    private String declaration(String type, Run run) {
        String fields = run.schema().attributes().entrySet().stream()
                .map(entry -> " " + Conditions.identifier("a_", entry.getKey()) + " : " + javaType(entry.getValue()))
                .collect(Collectors.joining());
        return "declare " + type + " @role(event) @timestamp(moment) moment : long position : int" + fields + " end\n";
    }

    private static String javaType(AttributeType type) {
        return switch (type) {
            case INT, TIMESTAMP -> "Long";
            case FLOAT -> "Double";
            case STRING -> "String";
            case BOOL -> "Boolean";
        };
    }

    private String rule(Chain chain) {
        List<Definition> taken = new ArrayList<>();
        List<String> patterns = new ArrayList<>();
        for (Chain.Step step : chain.steps()) {
            if (!(step instanceof Chain.Single single) || !single.rounds().isOnce() || single.definitions().size() > 1) {
                throw claims.iteration();
            }
            Definition definition = single.definitions().get(0);
            List<String> constraints = constraints(definition, taken);
            if (!taken.isEmpty()) {
                Definition before = taken.get(taken.size() - 1);
                constraints.add(after(before, 1, step.contiguous() ? 1 : UNBOUNDED));
                if (taken.size() == chain.steps().size() - 1) {
                    hoisted.windows().forEach(window -> constraints.add(within(window, taken.get(0))));
                }
            }
            taken.add(definition);
            patterns.add(name(definition) + " : " + pattern(definition, constraints));
        }
        for (Absence absence : absences) {
            patterns.add("not " + absent(absence, taken));
        }
        if (taken.size() > MOST_BINDINGS) {
            throw DroolsClaims.skip("a consequence takes up to " + MOST_BINDINGS + " bindings");
        }
        chains.add(taken);
        String positions = taken.stream().map(d -> ", " + name(d) + ".getPosition()").collect(Collectors.joining());
        return "rule chain_" + chains.size() + " when\n  " + String.join("\n  ", patterns)
                + "\nthen found.add(java.util.List.of(" + (chains.size() - 1) + positions + ")); end\n";
    }

    private static String name(Definition definition) {
        return "$e" + definition.index();
    }

    private String pattern(Definition definition, List<String> constraints) {
        String type = Conditions.identifier("E_", definition.type());
        types.add(type);
        return type + "(" + String.join(", ", constraints) + ")";
    }

    private List<String> conditions(Definition definition) {
        List<String> constraints = new ArrayList<>();
        for (Predicate predicate : definition.conditions()) {
            int mentions = predicate.mentions().size();
            constraints.add(conditions.of(predicate, Collections.nCopies(mentions, "").iterator()));
        }
        return constraints;
    }

    private List<String> constraints(Definition definition, List<Definition> taken) {
        List<String> constraints = conditions(definition);
        for (Constraint constraint : outline.constraints()) {
            List<Definition> others = constraint.definitions().stream().filter(d -> d != definition).toList();
            if (constraint.definitions().contains(definition) && taken.containsAll(others)) {
                List<String> events = constraint.definitions().stream()
                        .map(d -> d == definition ? "" : name(d) + ".")
                        .toList();
                constraints.add(conditions.of(constraint.predicate(), events.iterator()));
            }
        }
        for (String key : hoisted.keys()) {
            String attribute = Conditions.identifier("a_", key);
            boolean known = conditions.type(key) != null;
            constraints.add(known ? attribute + " != null" : "position < 0");
            if (known && !taken.isEmpty()) {
                constraints.add(attribute + " == " + name(taken.get(0)) + "." + attribute);
            }
        }
        return constraints;
    }

    /** That the event is so many positions after another one. */
    private String after(Definition other, long least, long most) {
        if (timed) {
            String place = name(other) + ".position + ";
            return "position >= " + place + least + (most == UNBOUNDED ? "" : ", position <= " + place + most);
        }
        return "this after[" + least + "ms" + (most == UNBOUNDED ? "" : ", " + most + "ms") + "] " + name(other);
    }

    private String within(Formula.Window window, Definition first) {
        return switch (window.measure()) {
            case EVENTS -> after(first, 0, (long) window.width() - 1);
            case TIME -> "this after[0ms, " + milliseconds(new BigDecimal(window.seconds()).scaleByPowerOfTen(3)) + "ms] " + name(first);
            case ATTRIBUTE -> throw new IllegalStateException("a window that is not claimed");
        };
    }

    private String absent(Absence absence, List<Definition> taken) {
        Outline absent = Binder.outline(absence.absent(), claims);
        Definition definition = absent.definitions().get(0);
        if (taken.size() != outline.definitions().size() || !(absent.shape() instanceof Shape.One)
                || !absent.constraints().isEmpty()) {
            throw claims.absence();
        }
        List<String> constraints = conditions(definition);
        if (absence.after() > 0) {
            constraints.add(after(taken.get(absence.after() - 1), 1, UNBOUNDED));
        }
        String until = name(taken.get(absence.until() - 1));
        constraints.add(timed ? "position <= " + until + ".position" : "this before[0ms] " + until);
        return pattern(definition, constraints);
    }

    /** A time in milliseconds, as Drools has it. */
    static long milliseconds(BigDecimal time) {
        try {
            return time.longValueExact();
        } catch (ArithmeticException e) {
            throw DroolsClaims.skip("a time that is no whole number of milliseconds: " + time);
        }
    }
}
