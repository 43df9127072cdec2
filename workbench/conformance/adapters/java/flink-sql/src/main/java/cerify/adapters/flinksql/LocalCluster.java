package cerify.adapters.flinksql;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.client.JobExecutionException;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

/** A cluster in this process that the jobs of all runs share; Flink's own local executor starts one for each job. */
final class LocalCluster {

    private final MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
            .withRandomPorts()
            .setNumSlotsPerTaskManager(2) // the job before may not have left its own yet
            .build());

    LocalCluster() {
        try {
            cluster.start();
        } catch (Exception e) {
            throw new IllegalStateException("the local cluster does not start: " + e, e);
        }
    }

    /** Runs a job to its end; may be called again with the same job. */
    void run(JobGraph job) throws JobExecutionException, InterruptedException {
        job.setJobID(new JobID()); // a cluster takes each number once
        cluster.executeJobBlocking(job);
    }
}
