-- A chip that the next job can get, unless it is reserved: up or degraded, not allocated, and on no cordoned server.
-- common: address, cluster, domain, domain_ordinal, server, server_ordinal, ordinal, model
-- state: `up` or `degraded`
-- example: SELECT cluster, count(*) AS free FROM v_free_chip GROUP BY cluster ORDER BY cluster

SELECT
    {{ chip_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ server_address }} AS server, server.ordinal AS server_ordinal,
    chip.ordinal, chip_model.slug AS model, node.state
FROM chip
JOIN node ON node.id = chip.id
JOIN server ON server.id = chip.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN chip_model ON chip_model.id = chip.chip_model_id
WHERE {{ chip_takes_jobs }} AND NOT {{ chip_is_allocated }}
