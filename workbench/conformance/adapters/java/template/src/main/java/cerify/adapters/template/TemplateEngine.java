package cerify.adapters.template;

import cerify.adapters.cel.FormulaReader;
import cerify.adapters.cel.Truth;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Gathering;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.MessageLoop;
import cerify.adapters.protocol.Run;
import java.io.IOException;
import java.util.List;

/** An adapter to copy: everything but the engine. The search through a chain is where an engine goes. */
public final class TemplateEngine extends Engine {

    /** The engine; it holds nothing between runs. */
    public TemplateEngine() {
        super(
                "template",
                List.of("cel"),
                List.of("project", "or", "contiguous", "iteration", "correlation", "strict", "partition"));
    }

    /** Serves the protocol until stop or end of input; takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        MessageLoop.serve(TemplateEngine::new);
    }

    @Override
    public Answer answer(Run run) {
        TemplateClaims claims = new TemplateClaims(run.schema());
        Hoisted hoisted = Hoisted.of(FormulaReader.formula(run.tree()));
        claims.check(hoisted);
        Outline outline = Binder.outline(hoisted.phi(), claims);
        claims.check(outline);
        Taking taking = new Taking(new Truth(run.schema()), outline, hoisted.keys());
        Gathering gathering = new Gathering(outline.variables(), run.valuations());
        for (Chain chain : Chain.of(outline.shape(), claims::choiceInIteration)) {
            new Search(run.events(), taking, gathering).run(chain);
        }
        return new Answer.Matches(gathering.matches());
    }
}
