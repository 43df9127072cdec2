package cerify.adapters.sase;

import cerify.adapters.protocol.MessageLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The program: SASE on standard input and output. */
public final class Main {

    private Main() {}

    /** Serves the protocol until stop or end of input; the arguments are {@code --engine-home CHECKOUT}. */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2 || !arguments[0].equals("--engine-home")) {
            System.err.println("usage: --engine-home CHECKOUT, a checkout of haopeng/sase");
            System.exit(2);
        }
        Path home = Path.of(arguments[1]);
        if (!Files.isRegularFile(home.resolve(SaseJar.JAR))) {
            System.err.println("--engine-home " + home + " is no checkout of SASE: there is no " + SaseJar.JAR + " in it");
            System.exit(2);
        }
        SaseEngine engine = new SaseEngine(new SaseJar(home), SaseJar.version(home));
        MessageLoop.serve(() -> engine);
    }
}
