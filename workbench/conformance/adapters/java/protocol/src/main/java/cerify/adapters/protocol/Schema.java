package cerify.adapters.protocol;

import java.io.Serializable;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.json.JSONArray;
import org.json.JSONObject;

/** The type of each attribute name, one throughout a schema, and the names that the events use with several types. */
public record Schema(Map<String, AttributeType> attributes, Set<String> mixed) implements Serializable {

    private static final String TYPE = "type";
    private static final String TIME = "time";

    /** The schema of a message; the reserved attribute time has the type that the events show. */
    static Schema declared(JSONObject types, JSONArray events) {
        Map<String, AttributeType> attributes = new TreeMap<>();
        for (String type : types.keySet()) {
            JSONObject declared = types.getJSONObject(type);
            for (String attribute : declared.keySet()) {
                AttributeType kind = AttributeType.named(declared.getString(attribute));
                AttributeType known = attributes.putIfAbsent(attribute, kind);
                if (known != null && known != kind) {
                    throw new Problem(
                            Problem.Code.ILL_FORMED, "the schema gives the attribute '" + attribute + "' two types");
                }
            }
        }
        Schema shown = inferred(events);
        if (!attributes.containsKey(TIME) && shown.attributes.containsKey(TIME)) {
            attributes.put(TIME, shown.attributes.get(TIME));
        }
        return new Schema(attributes, Set.of());
    }

    /** The schema that the events themselves show; a name with integers and floats is a float. */
    static Schema inferred(JSONArray events) {
        Map<String, AttributeType> attributes = new TreeMap<>();
        Set<String> mixed = new HashSet<>();
        for (int i = 0; i < events.length(); i++) {
            JSONObject event = events.getJSONObject(i);
            for (String attribute : event.keySet()) {
                if (attribute.equals(TYPE) || event.isNull(attribute)) {
                    continue;
                }
                AttributeType kind = Values.typeOf(event.get(attribute));
                if (attribute.equals(TIME) && kind == AttributeType.STRING) {
                    kind = AttributeType.TIMESTAMP;
                }
                AttributeType known = attributes.putIfAbsent(attribute, kind);
                if (known != null && known != kind) {
                    attributes.put(attribute, AttributeType.FLOAT);
                    if (!known.isNumber() || !kind.isNumber()) {
                        mixed.add(attribute);
                    }
                }
            }
        }
        mixed.forEach(attributes::remove);
        return new Schema(attributes, mixed);
    }
}
