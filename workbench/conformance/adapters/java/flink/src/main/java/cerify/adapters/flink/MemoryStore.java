package cerify.adapters.flink;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;

/** State in memory, for one key: what the shared buffer of an NFA needs, which is maps. */
final class MemoryStore implements KeyedStateStore {

    /** A map as a state. */
    private record MemoryMap<K, V>(Map<K, V> map) implements MapState<K, V> {

        @Override
        public V get(K key) {
            return map.get(key);
        }

        @Override
        public void put(K key, V value) {
            map.put(key, value);
        }

        @Override
        public void putAll(Map<K, V> entries) {
            map.putAll(entries);
        }

        @Override
        public void remove(K key) {
            map.remove(key);
        }

        @Override
        public boolean contains(K key) {
            return map.containsKey(key);
        }

        @Override
        public Iterable<Map.Entry<K, V>> entries() {
            return map.entrySet();
        }

        @Override
        public Iterable<K> keys() {
            return map.keySet();
        }

        @Override
        public Iterable<V> values() {
            return map.values();
        }

        @Override
        public Iterator<Map.Entry<K, V>> iterator() {
            return map.entrySet().iterator();
        }

        @Override
        public boolean isEmpty() {
            return map.isEmpty();
        }

        @Override
        public void clear() {
            map.clear();
        }
    }

    @Override
    public <K, V> MapState<K, V> getMapState(MapStateDescriptor<K, V> descriptor) {
        return new MemoryMap<>(new HashMap<>());
    }

    @Override
    public <T> ValueState<T> getState(ValueStateDescriptor<T> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> ListState<T> getListState(ListStateDescriptor<T> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> ReducingState<T> getReducingState(ReducingStateDescriptor<T> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <I, A, O> AggregatingState<I, O> getAggregatingState(AggregatingStateDescriptor<I, A, O> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> org.apache.flink.api.common.state.v2.ValueState<T> getValueState(
            org.apache.flink.api.common.state.v2.ValueStateDescriptor<T> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> org.apache.flink.api.common.state.v2.ListState<T> getListState(
            org.apache.flink.api.common.state.v2.ListStateDescriptor<T> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> org.apache.flink.api.common.state.v2.MapState<K, V> getMapState(
            org.apache.flink.api.common.state.v2.MapStateDescriptor<K, V> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> org.apache.flink.api.common.state.v2.ReducingState<T> getReducingState(
            org.apache.flink.api.common.state.v2.ReducingStateDescriptor<T> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <I, A, O> org.apache.flink.api.common.state.v2.AggregatingState<I, O> getAggregatingState(
            org.apache.flink.api.common.state.v2.AggregatingStateDescriptor<I, A, O> descriptor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public String getBackendTypeIdentifier() {
        return "memory";
    }
}
