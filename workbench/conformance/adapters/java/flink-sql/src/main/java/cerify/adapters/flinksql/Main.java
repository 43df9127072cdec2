package cerify.adapters.flinksql;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;

/** The program: Flink SQL on standard input and output. */
public final class Main {

    private Main() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(new FlinkSqlEngine());
        System.exit(0); // threads of the engine may be no daemons
    }
}
