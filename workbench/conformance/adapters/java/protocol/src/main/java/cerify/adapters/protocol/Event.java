package cerify.adapters.protocol;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.json.JSONArray;
import org.json.JSONObject;

/** An event: its type ("" for a row of SQL, which has none), and the values of the attributes that it has. */
public record Event(String type, Map<String, Object> attributes) implements Serializable {

    /** The events of a message, their values converted to the types of the schema. */
    static List<Event> all(JSONArray array, Schema schema) {
        List<Event> events = new ArrayList<>(array.length());
        for (int i = 0; i < array.length(); i++) {
            JSONObject object = array.getJSONObject(i);
            Map<String, Object> attributes = new HashMap<>();
            for (Map.Entry<String, AttributeType> attribute : schema.attributes().entrySet()) {
                String name = attribute.getKey();
                if (!object.isNull(name)) {
                    attributes.put(name, Values.converted(object.get(name), attribute.getValue(), name, i));
                }
            }
            events.add(new Event(object.optString("type"), attributes));
        }
        return events;
    }
}
