package cerify.adapters.trino;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;

/** The program: Trino on standard input and output. */
public final class Main {

    private Main() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(new TrinoEngine());
        System.exit(0); // Trino's threads are no daemons
    }
}
