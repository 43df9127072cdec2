package cerify.adapters.protocol;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.json.JSONObject;

/** An engine under test that takes MATCH_RECOGNIZE as SQL. */
public abstract class SqlEngine extends Engine {

    /** An engine with the version of its pom. */
    protected SqlEngine(String name) {
        super(name, List.of("row-pattern"), List.of());
    }

    @Override
    public final Answer answer(Run run) {
        if (run.sql() == null) {
            throw new Problem(Problem.Code.PARSE, "the query is no clause of MATCH_RECOGNIZE");
        }
        return new Answer.Tables(tables(run.sql(), run::translated));
    }

    /**
     * The tables that the statements of a run give, from its member {@code sql}; throws as {@link #answer} does. The second
     * argument takes each statement before it is executed.
     */
    protected abstract List<Table> tables(JSONObject sql, Consumer<String> executed);

    /** The results of statements, each of which is told to the second argument before. */
    protected static List<Table> results(List<String> statements, Consumer<String> executed, Function<String, Table> result) {
        List<Table> tables = new ArrayList<>();
        for (String statement : statements) {
            executed.accept(statement);
            tables.add(result.apply(statement));
        }
        return tables;
    }

    /** The SELECTs under a name: {@code statements}, which have the table, or {@code selects}. */
    protected static List<String> texts(JSONObject sql, String name) {
        List<String> texts = new ArrayList<>();
        sql.getJSONArray(name).forEach(statement -> texts.add((String) statement));
        return texts;
    }
}
