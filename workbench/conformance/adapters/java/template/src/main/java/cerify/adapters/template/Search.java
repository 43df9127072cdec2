package cerify.adapters.template;

import cerify.adapters.outline.Chain;
import cerify.adapters.outline.Definition;
import cerify.adapters.outline.Gathering;
import cerify.adapters.outline.Taking;
import cerify.adapters.protocol.Event;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** All matches of a chain, by trying every event for every step: what an engine is put in the place of. */
final class Search {

    private final List<Event> stream;
    private final Taking taking;
    private final Gathering gathering;
    private final Map<Definition, List<Integer>> taken = new HashMap<>();

    /** What is looked for after a part of the chain; next is the first position that is not used. */
    private interface Rest {
        void from(int next);
    }

    Search(List<Event> stream, Taking taking, Gathering gathering) {
        this.stream = stream;
        this.taking = taking;
        this.gathering = gathering;
    }

    /** Adds the matches of the chain. */
    void run(Chain chain) {
        steps(chain.steps(), false, 0, next -> gathering.add(next - 1, this::positions));
    }

    private List<Integer> positions(Definition definition) {
        return taken.getOrDefault(definition, List.of());
    }

    private List<Event> events(Definition definition) {
        return positions(definition).stream().map(stream::get).toList();
    }

    private void steps(List<Chain.Step> steps, boolean contiguous, int next, Rest rest) {
        if (steps.isEmpty()) {
            rest.from(next);
            return;
        }
        Chain.Step first = steps.get(0);
        List<Chain.Step> others = steps.subList(1, steps.size());
        boolean tight = others.isEmpty() ? false : others.get(0).contiguous();
        rounds(first, 1, contiguous, next, after -> steps(others, tight, after, rest));
    }

    private void rounds(Chain.Step step, int round, boolean contiguous, int next, Rest rest) {
        Chain.Rounds rounds = step.rounds();
        Rest after = end -> {
            if (round >= rounds.least()) {
                rest.from(end);
            }
            if (rounds.most() == 0 || round < rounds.most()) {
                rounds(step, round + 1, rounds.contiguous(), end, rest);
            }
        };
        if (step instanceof Chain.Group group) {
            steps(group.chain().steps(), contiguous, next, after);
        } else {
            one((Chain.Single) step, contiguous, next, after);
        }
    }

    private void one(Chain.Single step, boolean contiguous, int next, Rest rest) {
        int end = contiguous ? Math.min(next + 1, stream.size()) : stream.size();
        for (int position = next; position < end; position++) {
            Event event = stream.get(position);
            for (Definition definition : step.definitions()) {
                if (taking.fits(definition, event) && taking.agrees(definition, event, this::events)) {
                    List<Integer> before = taken.get(definition);
                    List<Integer> longer = new ArrayList<>(positions(definition));
                    longer.add(position);
                    taken.put(definition, longer);
                    rest.from(position + 1);
                    if (before == null) {
                        taken.remove(definition);
                    } else {
                        taken.put(definition, before);
                    }
                }
            }
        }
    }
}
