SELECT
    {{ server_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ rack_address }} AS rack, rack.ordinal AS rack_ordinal,
    server.ordinal, server_model.slug AS model, chip_model.generation, server_model.chips, server_model.vcpus,
    server_model.host_memory_bytes / 1073741824 AS host_memory_gib,
    server.state, CAST(server.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor, binding.instance, binding.host
FROM server
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = server.rack_id
JOIN server_model ON server_model.id = server.server_model_id
JOIN chip_model ON chip_model.id = server_model.chip_model_id
LEFT JOIN binding ON binding.server_id = server.id AND binding.ended_at IS NULL
