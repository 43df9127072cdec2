package cerify.adapters.protocol;

import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import org.json.JSONArray;
import org.json.JSONObject;

/** The answer of an engine to a run. */
public sealed interface Answer {

    /** The matches, as a set. */
    record Matches(SortedSet<Match> matches) implements Answer {

        /** The same set, without bindings if they were not asked for. */
        Matches reported(boolean valuations) {
            SortedSet<Match> reported = new TreeSet<>();
            matches.forEach(match -> reported.add(match.reported(valuations)));
            return new Matches(reported);
        }
    }

    /** The results of the statements of a run, from which the harness reads the matches. */
    record Tables(List<Table> tables) implements Answer {}

    /** The engine does not claim this. */
    record Skipped(String reason, String link) implements Answer {}

    /** The run failed. */
    record Failed(Problem problem) implements Answer {}

    /** The answer of an engine to a run, whatever the engine throws; its stack trace goes to standard error. */
    static Answer to(Run run, Engine engine) {
        try {
            if (!engine.languages().contains(run.language())) {
                String known = String.join(", ", engine.languages());
                throw new Problem(Problem.Code.UNSUPPORTED, run.language() + " is no language of this engine: " + known);
            }
            Answer answer = engine.answer(run);
            return answer instanceof Matches found ? found.reported(run.valuations()) : answer;
        } catch (Skip skip) {
            return new Skipped(skip.getMessage(), skip.link());
        } catch (Problem problem) {
            if (problem.getCause() != null) {
                problem.getCause().printStackTrace();
            }
            return new Failed(problem);
        } catch (OutOfMemoryError | StackOverflowError e) {
            System.err.println("query " + run.query() + ": " + e);
            return new Failed(new Problem(Problem.Code.BUDGET, "the run needed more memory than there is: " + e));
        } catch (RuntimeException | LinkageError e) {
            System.err.println("query " + run.query());
            e.printStackTrace();
            return new Failed(new Problem(Problem.Code.INTERNAL, e.toString()));
        }
    }

    /** The message of the answer to the run of this id. */
    default JSONObject message(String id) {
        JSONObject message = new JSONObject().put("id", id == null ? JSONObject.NULL : id);
        if (this instanceof Matches found) {
            JSONArray matches = new JSONArray();
            for (Match match : found.matches()) {
                JSONObject object = new JSONObject().put("at", match.at()).put("events", match.events());
                object.putOpt("bindings", match.bindings());
                matches.put(object.putOpt("result", match.result()));
            }
            return message.put("matches", matches);
        }
        if (this instanceof Tables found) {
            return message.put("tables", new JSONArray(found.tables().stream().map(Table::json).toList()));
        }
        if (this instanceof Skipped skipped) {
            return message.put("skipped", skipped.reason()).put("link", skipped.link());
        }
        Problem problem = ((Failed) this).problem();
        return message.put(
                "error", new JSONObject().put("code", problem.code().text()).put("message", problem.getMessage()));
    }
}
