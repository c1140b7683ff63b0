SELECT
    binding.address, cluster.slug AS cluster, binding.instance, binding.host, binding.started_at, binding.ended_at, binding.method,
    binding.confidence, binding.evidence, binding.who, binding.ending, binding.ended_by
FROM binding
LEFT JOIN server ON server.id = binding.server_id AND binding.ended_at IS NULL
LEFT JOIN domain ON domain.id = server.domain_id
LEFT JOIN cluster ON cluster.id = domain.cluster_id
