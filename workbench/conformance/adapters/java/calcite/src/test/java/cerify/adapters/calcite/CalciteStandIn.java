package cerify.adapters.calcite;

import cerify.adapters.cases.StandIn;
import cerify.adapters.cases.Tables;
import java.io.IOException;
import org.json.JSONObject;

/** The adapter with a test in the place of Calcite, which gets the statements. */
final class CalciteStandIn {

    private CalciteStandIn() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        StandIn.serve(test -> new CalciteEngine(
                statement -> Tables.table(test.found(new JSONObject().put("statement", statement)).get(0))));
    }
}
