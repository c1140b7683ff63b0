SELECT
    {{ nic_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ server_address }} AS server, server.ordinal AS server_ordinal,
    {{ rack_address }} AS rack, rack.ordinal AS rack_ordinal,
    nic.ordinal,
    CAST(nic.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS bandwidth_gb_per_s,
    node.state, CAST(node.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor
FROM nic
JOIN node ON node.id = nic.id
JOIN server ON server.id = nic.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = server.rack_id
