-- A slot's link to an instance.
-- address: the slot
-- cluster: null once the binding has ended
-- instance: id of the instance; null: only its host is known
-- host: its host name
-- started_at: when it started
-- ended_at: when it ended; null: it is open
-- method: how it was established: `pin`, `adopted`, `ultraserver`, `capacity-block`, `network-node`, `host-name`,
--   `only-place`, `in-order`
-- confidence: `certain`, `likely` or `interchangeable`
-- evidence: what an inference is based on
-- who: who bound it
-- ending: why it ended: `undone`, `replaced`, `moved`, `renewed`, `unseeded`
-- ended_by: who ended it
-- example: SELECT method, confidence, count(*) AS bindings FROM v_binding WHERE ended_at IS NULL GROUP BY method,
--   confidence

SELECT
    binding.address, cluster.slug AS cluster, binding.instance, binding.host, binding.started_at, binding.ended_at, binding.method,
    binding.confidence, binding.evidence, binding.who, binding.ending, binding.ended_by
FROM binding
LEFT JOIN server ON server.id = binding.server_id AND binding.ended_at IS NULL
LEFT JOIN domain ON domain.id = server.domain_id
LEFT JOIN cluster ON cluster.id = domain.cluster_id
