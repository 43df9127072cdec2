package cerify.adapters.template;

import cerify.adapters.cel.CelParser;
import cerify.adapters.cel.Truth;
import cerify.adapters.outline.Binder;
import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Gathering;
import cerify.adapters.outline.Hoisted;
import cerify.adapters.outline.Outline;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Answer;
import cerify.adapters.protocol.Engine;
import cerify.adapters.protocol.Run;
import java.util.List;

/** An adapter to copy: everything but the engine. The search through a chain is where an engine goes. */
public final class TemplateEngine implements Engine {

    @Override
    public String name() {
        return "template";
    }

    @Override
    public String version() {
        return "0.1.0";
    }

    @Override
    public List<String> languages() {
        return List.of("cel");
    }

    @Override
    public List<String> features() {
        return List.of("project", "or", "contiguous", "iteration", "correlation", "strict", "partition");
    }

    @Override
    public Answer answer(Run run) {
        TemplateClaims claims = new TemplateClaims(run.schema());
        Hoisted hoisted = Hoisted.of(CelParser.parse(run.query()));
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
