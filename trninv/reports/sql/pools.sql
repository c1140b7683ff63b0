-- title: HBM by domain
-- answers: Which scale-up domains have the most HBM in chips that are up or degraded, connected or not?
-- parameter: top = 20 — number of domains
-- chart: hbm_gib_up by domain
SELECT
    domain_address.address AS domain, usable.chips * (model.device_memory_bytes / 1073741824) AS hbm_gib_up,
    usable.chips AS chips_up, model.slug AS model, cluster.slug AS cluster,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed
FROM (
    SELECT node.domain_id, chip.chip_model_id, count(*) AS chips
    FROM chip CROSS JOIN node -- CROSS JOIN makes SQLite start with the chips, so that it skips all other nodes
    WHERE node.id = chip.id AND node.state IN ('up', 'degraded')
    GROUP BY node.domain_id, chip.chip_model_id
) AS usable
JOIN chip_model AS model ON model.id = usable.chip_model_id
JOIN domain ON domain.id = usable.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN v_domain AS domain_address ON domain_address.cluster = cluster.slug AND domain_address.ordinal = domain.ordinal
ORDER BY hbm_gib_up DESC, cluster, domain.ordinal
LIMIT :top
