package cerify.adapters.esper;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;

/** The program: Esper on standard input and output. */
public final class Main {

    private Main() {}

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(new EsperEngine());
    }
}
