package cerify.adapters.beamsql;

import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Problem;
import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.SqlEngine;
import cerify.adapters.protocol.Table;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.extensions.sql.SqlTransform;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.runners.PTransformOverride;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.values.Row;
import org.json.JSONObject;

/** Beam SQL under test: the clause over a bounded collection of rows, on the direct runner in this process. */
final class BeamSqlEngine extends SqlEngine {

    static final String MANUAL = "https://beam.apache.org/documentation/dsls/sql/overview/";

    private static final String[] OPTIONS = {
        "--runner=DirectRunner", "--targetParallelism=1", "--enforceImmutability=false", "--enforceEncodability=false"
    };

    /** What Beam throws where it has no such clause; every other exception is an error of its own. */
    private static final Set<String> REFUSALS = Set.of(
            "UnsupportedOperationException", "ParseException", "SqlParseException", "SqlValidatorException", "CalciteException",
            "CannotPlanException", "SqlConversionException", "IllegalStateException");

    /** The rows of the pipeline that runs; the direct runner calls functions in this process. */
    private static final Queue<Row> FOUND = new ConcurrentLinkedQueue<>();

    /** The rows of the table. */
    private static volatile List<Row> given = List.of();

    private static final String FIRST = """
            {"columns": [{"name": "cerify_place", "type": "BIGINT"}], "rows": [[0]], "variables": ["A"],
             "clause": {"partition": "", "order": "", "measures": "", "rows": "ONE ROW PER MATCH", "skip": "",
                        "pattern": "PATTERN (A)", "define": "", "subset": ""}}""";

    /** The pipelines of the last statements and schemas: to plan one takes longer than to run it. */
    private final Map<List<Object>, Pipeline> pipelines = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Pipeline> eldest) {
            return size() > 20;
        }
    };

    /** The engine, with its classes loaded, so that the first run is not slower than the others. */
    BeamSqlEngine() {
        super("beam-sql");
        tables(new JSONObject(FIRST), statement -> {});
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(BeamSqlEngine::new);
    }

    @Override
    protected List<Table> tables(JSONObject sql, Consumer<String> executed) {
        Clause clause = new Clause(sql);
        executed.accept(clause.measures());
        List<Row> matches = rows(clause, clause.measures());
        return clause.tables(
                matches, matches.stream().allMatch(clause::isOneRowEach) ? List.of() : rows(clause, clause.allRows()));
    }

    private List<Row> rows(Clause clause, String statement) {
        FOUND.clear();
        given = clause.rows();
        try {
            pipelines.computeIfAbsent(List.of(statement, clause.schema()), any -> pipeline(statement, clause.schema()))
                    .run()
                    .waitUntilFinish();
            return List.copyOf(FOUND);
        } catch (RuntimeException | AssertionError e) {
            Throwable cause = cause(e);
            String why = cause.toString().lines().findFirst().orElse("");
            if (REFUSALS.contains(cause.getClass().getSimpleName())) {
                throw new Skip("Beam refuses it: " + why, MANUAL);
            }
            throw new Problem(Problem.Code.INTERNAL, why, e);
        }
    }

    private static Pipeline pipeline(String statement, Schema schema) {
        Pipeline pipeline = new Planned(PipelineOptionsFactory.fromArgs(OPTIONS).create());
        pipeline.apply(Create.of(0))
                .apply(ParDo.of(new Rows()))
                .setRowSchema(schema)
                .apply(SqlTransform.query(statement))
                .apply(ParDo.of(new Collect()));
        return pipeline;
    }

    private static Throwable cause(Throwable e) {
        return e.getCause() == null ? e : cause(e.getCause());
    }

    /** A pipeline that runs more than once. The runner's replacements stay, so the later runs need none. */
    private static final class Planned extends Pipeline {

        private boolean hasRun;

        Planned(PipelineOptions options) {
            super(options);
        }

        @Override
        public PipelineResult run() {
            try {
                return super.run();
            } finally {
                hasRun = true;
            }
        }

        @Override
        public void replaceAll(List<PTransformOverride> overrides) {
            if (!hasRun) {
                super.replaceAll(overrides);
            }
        }
    }

    private static final class Rows extends DoFn<Integer, Row> {

        private static final long serialVersionUID = 1;

        @ProcessElement
        public void all(OutputReceiver<Row> output) {
            given.forEach(output::output);
        }
    }

    private static final class Collect extends DoFn<Row, Void> {

        private static final long serialVersionUID = 1;

        @ProcessElement
        public void keep(@Element Row row) {
            FOUND.add(row);
        }
    }
}
