package cerify.adapters.flink;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;

/** The adapter with the meaning of patterns in the place of Flink's NFA. */
final class FlinkStandIn {

    private FlinkStandIn() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(() -> new FlinkEngine(PatternMeaning::new));
    }
}
