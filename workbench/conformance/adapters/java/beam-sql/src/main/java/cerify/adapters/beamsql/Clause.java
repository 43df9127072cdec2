package cerify.adapters.beamsql;

import cerify.adapters.protocol.Skip;
import cerify.adapters.protocol.Table;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.values.Row;
import org.joda.time.Instant;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * A clause in Beam's words, which has neither CLASSIFIER nor MATCH_NUMBER. The places of the first and the last row of each
 * variable are measures of their own. With ALL ROWS PER MATCH the same clause gives the rows of its matches, those of a
 * variable one after the other, so both together say which rows each variable has. Numbers are DOUBLE and have an exponent
 * in DEFINE: Beam compares no others with literals.
 */
final class Clause {

    private static final String PLACE = "cerify_place";
    private static final Pattern QUOTED_OR_NUMBER = Pattern.compile("('[^']*'|\"[^\"]*\")|\\b\\d+(\\.\\d+)?\\b");
    private static final Map<String, FieldType> TYPES = Map.of(
            "BIGINT", FieldType.DOUBLE,
            "DOUBLE PRECISION", FieldType.DOUBLE,
            "VARCHAR(200)", FieldType.STRING,
            "BOOLEAN", FieldType.BOOLEAN,
            "TIMESTAMP(6)", FieldType.DATETIME);

    private final JSONObject sql;
    private final JSONObject parts;
    private final List<String> variables = new ArrayList<>();

    /** The clause of a run's member {@code sql}. Throws Skip where the rows of a match cannot be told. */
    Clause(JSONObject sql) {
        this.sql = sql;
        parts = sql.getJSONObject("clause");
        sql.getJSONArray("variables").forEach(variable -> variables.add((String) variable));
        if (!parts.getString("rows").startsWith("ONE ROW")) {
            throw new Skip("Beam's ALL ROWS PER MATCH has no measures, and no WINDOW", BeamSqlEngine.MANUAL);
        }
        if (variables.stream().anyMatch(variable -> places(variable).size() != 1)) {
            throw new Skip("Beam does not tell which rows a variable has in each of its places", BeamSqlEngine.MANUAL);
        }
        if (variables.isEmpty() || !parts.getString("subset").isEmpty()) {
            throw new Skip("Beam's matches have rows, and no union variables", BeamSqlEngine.MANUAL);
        }
        variables.sort(Comparator.comparing(variable -> places(variable).get(0)));
    }

    /** Where a variable stands in the pattern. */
    private List<Integer> places(String variable) {
        return Pattern.compile("\\b" + Pattern.quote(variable) + "\\b")
                .matcher(parts.getString("pattern").replaceFirst("PATTERN", ""))
                .results()
                .map(MatchResult::start)
                .toList();
    }

    /** The columns of PARTITION BY: whole numbers are no DOUBLE there, which Beam has no keys of. */
    private List<String> keys() {
        String partition = parts.getString("partition").replace("PARTITION BY ", "");
        return partition.isEmpty() ? List.of() : List.of(partition.split(", "));
    }

    Schema schema() {
        Schema.Builder schema = Schema.builder();
        for (Object column : sql.getJSONArray("columns")) {
            JSONObject of = (JSONObject) column;
            String name = of.getString("name");
            boolean whole = of.getString("type").equals("BIGINT") && (name.equals(PLACE) || keys().contains(name));
            schema.addNullableField(name, whole ? FieldType.INT64 : TYPES.get(of.getString("type")));
        }
        return schema.build();
    }

    List<Row> rows() {
        Schema schema = schema();
        List<Row> rows = new ArrayList<>();
        for (Object row : sql.getJSONArray("rows")) {
            List<Object> values = new ArrayList<>();
            for (int i = 0; i < schema.getFieldCount(); i++) {
                values.add(value(((JSONArray) row).get(i), schema.getField(i).getType()));
            }
            rows.add(Row.withSchema(schema).addValues(values).build());
        }
        return rows;
    }

    private static Object value(Object json, FieldType type) {
        if (json == JSONObject.NULL) {
            return null;
        }
        return switch (type.getTypeName()) {
            case DATETIME -> Instant.ofEpochMilli(
                    OffsetDateTime.parse((String) json).toInstant().toEpochMilli());
            case DOUBLE -> ((Number) json).doubleValue();
            case INT64 -> ((Number) json).longValue();
            default -> json;
        };
    }

    /** The statement of the measures: the clause's own, and the places of each variable. */
    String measures() {
        String places = IntStream.range(0, variables.size())
                .mapToObj(i -> "FIRST(`%1$s`.%2$s) AS cerify_from_%3$d, LAST(`%1$s`.%2$s) AS cerify_to_%3$d"
                        .formatted(variables.get(i), PLACE, i))
                .collect(Collectors.joining(", "));
        String own = parts.getString("measures");
        return statement(own.isEmpty() ? "MEASURES " + places : own + ", " + places, parts.getString("rows"));
    }

    /** The statement of the rows of all matches. */
    String allRows() {
        return statement("", "ALL ROWS PER MATCH");
    }

    private String statement(String measures, String rows) {
        String order = parts.getString("order");
        String define = QUOTED_OR_NUMBER
                .matcher(parts.getString("define"))
                .replaceAll(found -> Matcher.quoteReplacement(found.group() + (found.group(1) == null ? "E0" : "")));
        List<String> words = List.of(
                parts.getString("partition"), order.isEmpty() ? "ORDER BY " + PLACE : order, measures, rows,
                parts.getString("skip"), parts.getString("pattern"),
                define.isEmpty() ? "DEFINE `" + variables.get(0) + "` AS 1 = 1" : define);
        return words.stream()
                .filter(word -> !word.isEmpty())
                .collect(Collectors.joining(" ", "SELECT * FROM PCOLLECTION MATCH_RECOGNIZE (", ")"));
    }

    /** Whether each variable of a match has one row, so that its measures alone say which. */
    boolean isOneRowEach(Row match) {
        return IntStream.range(0, variables.size())
                .allMatch(i -> match.getValue("cerify_from_" + i).equals(match.getValue("cerify_to_" + i)));
    }

    /**
     * The rows of both statements as the harness has them: a row for each label, and a row for each match. If all is empty,
     * each variable of a match has one row.
     */
    List<Table> tables(List<Row> matches, List<Row> all) {
        List<String> own = new ArrayList<>();
        if (!matches.isEmpty()) {
            own.addAll(matches.get(0).getSchema().getFieldNames());
            own.removeIf(name -> name.startsWith("cerify_"));
        }
        List<String> keys = own.subList(0, own.isEmpty() ? 0 : keys().size());
        List<String> firsts = IntStream.range(0, variables.size()).mapToObj(i -> "cerify_from_" + i).toList();
        Map<List<Object>, Integer> numbers = new HashMap<>();
        Map<List<Object>, List<Object>> left = new HashMap<>();
        all.forEach(row -> left.computeIfAbsent(values(row, keys), key -> new ArrayList<>()).add(row.getValue(PLACE)));
        List<List<Object>> labels = new ArrayList<>();
        List<List<Object>> measures = new ArrayList<>();
        for (Row match : matches) {
            List<Object> key = values(match, keys);
            int number = numbers.merge(key, 1, Integer::sum);
            List<Object> places = all.isEmpty() ? values(match, firsts) : left.get(key);
            Map<Integer, List<List<Object>>> taken = new TreeMap<>(); // by variable, in the order of the pattern
            while (taken.size() < variables.size()) {
                int variable = variableFrom(match, places.get(0));
                Object last = match.getValue("cerify_to_" + variable);
                List<List<Object>> of = taken.computeIfAbsent(variable, any -> new ArrayList<>());
                Object place;
                do {
                    place = places.remove(0);
                    List<Object> label = new ArrayList<>(key);
                    label.addAll(List.of(number, place, variables.get(variable)));
                    of.add(label);
                } while (!place.equals(last));
            }
            taken.values().forEach(labels::addAll);
            List<Object> result = values(match, own);
            result.add(number);
            measures.add(result);
        }
        List<String> heads = new ArrayList<>(keys);
        heads.addAll(List.of("cerify_number", PLACE, "cerify_label"));
        own.add("cerify_number");
        return List.of(new Table(heads, labels), new Table(own, measures));
    }

    /** The variable whose rows in a match begin at a place. */
    private int variableFrom(Row match, Object place) {
        return IntStream.range(0, variables.size())
                .filter(i -> Objects.equals(match.getValue("cerify_from_" + i), place))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("row " + place + " is in no variable"));
    }

    private static List<Object> values(Row row, List<String> names) {
        List<Object> values = new ArrayList<>();
        names.forEach(name -> values.add(row.getValue(name)));
        return values;
    }
}
