package cerify.adapters.protocol;

import java.util.ArrayList;
import java.util.List;
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
        return new Answer.Tables(tables(run.sql()));
    }

    /** The tables that the statements of a run give, from its member {@code sql}; throws as {@link #answer} does. */
    protected abstract List<Table> tables(JSONObject sql);

    /** The result of each of the SELECTs under a name: {@code statements}, which have the table, or {@code selects}. */
    protected static List<Table> results(JSONObject sql, String name, Function<String, Table> result) {
        List<Table> tables = new ArrayList<>();
        sql.getJSONArray(name).forEach(statement -> tables.add(result.apply((String) statement)));
        return tables;
    }
}
