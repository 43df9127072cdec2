package cerify.adapters.flink;

import cerify.adapters.protocol.Problem;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.cep.nfa.NFA;
import org.apache.flink.cep.nfa.NFAState;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBuffer;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBufferAccessor;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.configuration.Configuration;

/**
 * The NFA of a pattern, run as Flink's operator runs it in event time: time is advanced to that of the event, then the
 * event is processed.
 */
final class NfaRun implements Search {

    private static final int MOST_PARTIAL_MATCHES = 3_000;

    private final NFA<Integer> nfa;
    private final AfterMatchSkipStrategy skipping;

    NfaRun(Pattern<Integer, ?> pattern) {
        nfa = NFACompiler.compileFactory(pattern, false).createNFA();
        skipping = pattern.getAfterMatchSkipStrategy();
    }

    /**
     * As the interface has it. Throws a Problem if there are too many partial matches: of a loop of a loop there are exponentially many, and the next event may take minutes.
     */
    @Override
    public void run(long[] timestamps, BiConsumer<Integer, Map<String, List<Integer>>> receiver) {
        SharedBuffer<Integer> buffer = new SharedBuffer<>(new MemoryStore(), IntSerializer.INSTANCE);
        try {
            nfa.open(context(), new Configuration());
            NFAState state = nfa.createInitialNFAState();
            for (int position = 0; position < timestamps.length; position++) {
                for (Map<String, List<Integer>> match : process(buffer, state, position, timestamps[position])) {
                    receiver.accept(position, match);
                }
                if (state.getPartialMatches().size() > MOST_PARTIAL_MATCHES) {
                    throw new Problem(Problem.Code.BUDGET, "more than " + MOST_PARTIAL_MATCHES + " partial matches");
                }
            }
            nfa.close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("Flink: " + e.getMessage(), e);
        } finally {
            buffer.releaseCacheStatisticsTimer();
        }
    }

    private Collection<Map<String, List<Integer>>> process(
            SharedBuffer<Integer> buffer, NFAState state, int position, long timestamp) throws Exception {
        try (SharedBufferAccessor<Integer> accessor = buffer.getAccessor()) {
            nfa.advanceTime(accessor, state, timestamp, skipping);
        }
        try (SharedBufferAccessor<Integer> accessor = buffer.getAccessor()) {
            return nfa.process(accessor, state, position, timestamp, skipping, () -> timestamp);
        }
    }

    /** A context of which conditions use nothing. */
    private static RuntimeContext context() {
        ClassLoader loader = NfaRun.class.getClassLoader();
        return (RuntimeContext) Proxy.newProxyInstance(loader, new Class<?>[] {RuntimeContext.class}, (self, method, values) -> {
            throw new UnsupportedOperationException(method.getName());
        });
    }
}
