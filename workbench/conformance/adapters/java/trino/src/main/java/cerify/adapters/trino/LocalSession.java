package cerify.adapters.trino;

import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.Table;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Trino in this process, with one session for all statements. Its classes are called by name: those of a new Trino are not
 * read by an older compiler than theirs, and what runs a statement has another name in an old one.
 */
final class LocalSession {

    private static final String MANUAL = "https://trino.io/docs/current/sql/match-recognize.html";

    private final Function<String, Object> execute;

    LocalSession() {
        Object session = call(callStatic("io.trino.testing.TestingSession", "testSessionBuilder"), "build");
        if (named("io.trino.testing.PlanTester") == null) { // up to 440
            Object runner = callStatic("io.trino.testing.LocalQueryRunner", "create", session);
            execute = statement -> call(runner, "execute", statement);
        } else {
            Object tester = callStatic("io.trino.testing.PlanTester", "create", session);
            execute = statement -> {
                Function<Object, Object> plan = inTransaction -> call(tester, "createPlan", inTransaction, statement);
                return call(tester, "executePlan", plan, instance("io.trino.testing.PlanTester$MaterializedResultOutput"));
            };
        }
    }

    /** The result of a statement; throws a Skip where Trino refuses it, and a Problem where it fails. */
    Table result(String statement) {
        try {
            Object result = execute.apply(statement);
            List<List<Object>> rows = new ArrayList<>();
            ((List<?>) call(result, "getMaterializedRows")).forEach(row -> rows.add(values(row)));
            List<String> columns = new ArrayList<>();
            ((List<?>) call(result, "getColumnNames")).forEach(name -> columns.add((String) name));
            return new Table(columns, rows);
        } catch (RuntimeException e) {
            throw refused(e);
        }
    }

    private static List<Object> values(Object row) {
        List<Object> values = new ArrayList<>((List<?>) call(row, "getFields"));
        values.replaceAll(value -> isA(value, "SqlTimestamp") ? call(value, "toLocalDateTime") : value);
        return values;
    }

    /** Errors of planning are no answers; of those while rows are read a division by zero is NULL in the definition. */
    private static RuntimeException refused(RuntimeException e) {
        if (isA(e, "ParsingException")) {
            return new Skip("Trino does not parse it: " + e.getMessage(), MANUAL);
        }
        Class<?> error = named("io.trino.spi.TrinoException");
        if (error == null || !error.isInstance(e)) {
            return e;
        }
        Object code = call(e, "getErrorCode");
        String name = (String) call(code, "getName");
        String type = call(code, "getType").toString();
        if (name.equals("DIVISION_BY_ZERO")) {
            return new Skip("Trino stops at a division by zero", MANUAL);
        }
        if (name.equals("GENERIC_USER_ERROR")) { // AFTER MATCH SKIP has no row to skip to
            return new Problem(Problem.Code.ILL_FORMED, e.getMessage());
        }
        if (type.equals("USER_ERROR")) {
            return new Skip("Trino refuses it: " + name + ": " + e.getMessage(), MANUAL);
        }
        boolean scarce = type.equals("INSUFFICIENT_RESOURCES");
        return new Problem(scarce ? Problem.Code.BUDGET : Problem.Code.INTERNAL, e.getMessage(), e);
    }

    private static boolean isA(Object value, String simpleName) {
        return value != null && value.getClass().getSimpleName().equals(simpleName);
    }

    private static Class<?> named(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static Object instance(String name) {
        try {
            return Class.forName(name).getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Trino has no " + name, e);
        }
    }

    private static Object callStatic(String name, String method, Object... arguments) {
        Class<?> type = named(name);
        if (type == null) {
            throw new IllegalStateException("this Trino has no " + name);
        }
        return call(type, null, method, arguments);
    }

    private static Object call(Object on, String method, Object... arguments) {
        return call(on.getClass(), on, method, arguments);
    }

    private static Object call(Class<?> type, Object on, String method, Object... arguments) {
        for (Method each : type.getMethods()) {
            Class<?>[] types = each.getParameterTypes();
            if (each.getName().equals(method)
                    && types.length == arguments.length
                    && IntStream.range(0, types.length).allMatch(k -> types[k].isInstance(arguments[k]))) {
                try {
                    return each.invoke(on, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
                } catch (IllegalAccessException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        throw new IllegalStateException("this Trino has no " + type.getName() + "." + method);
    }
}
