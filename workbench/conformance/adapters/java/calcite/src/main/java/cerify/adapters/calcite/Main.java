package cerify.adapters.calcite;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;

/** The program: Calcite on standard input and output. */
public final class Main {

    private Main() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(new CalciteEngine());
        System.exit(0); // threads of the engine may be no daemons
    }
}
