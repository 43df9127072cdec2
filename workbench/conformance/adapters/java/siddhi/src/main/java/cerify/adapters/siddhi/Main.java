package cerify.adapters.siddhi;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;

/** The program: Siddhi on standard input and output. */
public final class Main {

    private Main() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(new SiddhiEngine());
    }
}
