package cerify.adapters.flinksql;

import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.apache.flink.api.dag.Pipeline;
import org.apache.flink.client.deployment.executors.PipelineExecutorUtils;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.DeploymentOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.PipelineExecutor;
import org.apache.flink.core.execution.PipelineExecutorFactory;
import org.apache.flink.core.execution.PipelineExecutorServiceLoader;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.minicluster.MiniClusterJobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;

/** A cluster in this process that the jobs of all runs share; Flink's own local executor starts one for each job. */
final class LocalCluster implements PipelineExecutorServiceLoader, PipelineExecutorFactory {

    private final Configuration configuration = new Configuration();
    private final MiniCluster cluster;

    LocalCluster() {
        configuration.set(DeploymentOptions.TARGET, getName());
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .withRandomPorts()
                .setNumSlotsPerTaskManager(2) // the job before may not have left its own yet
                .build());
        try {
            cluster.start();
        } catch (Exception e) {
            throw new IllegalStateException("the local cluster does not start: " + e, e);
        }
    }

    /** An environment whose jobs run here, each in one slot. */
    StreamExecutionEnvironment environment() {
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(this, configuration, getClass().getClassLoader());
        environment.setParallelism(1);
        return environment;
    }

    @Override
    public PipelineExecutor getExecutor(Configuration unused) {
        return this::execute;
    }

    private CompletableFuture<JobClient> execute(Pipeline pipeline, Configuration of, ClassLoader loader) throws Exception {
        StreamGraph graph = PipelineExecutorUtils.getStreamGraph(pipeline, of);
        return cluster.submitJob(graph)
                .thenApply(submitted -> new MiniClusterJobClient(
                        submitted.getJobID(), cluster, loader, MiniClusterJobClient.JobFinalizationBehavior.NOTHING));
    }

    @Override
    public PipelineExecutorFactory getExecutorFactory(Configuration unused) {
        return this;
    }

    @Override
    public Stream<String> getExecutorNames() {
        return Stream.of(getName());
    }

    @Override
    public String getName() {
        return "cerify";
    }

    @Override
    public boolean isCompatibleWith(Configuration unused) {
        return true;
    }
}
