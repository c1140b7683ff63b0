-- title: The largest memory pools
-- answers: Which scale-up domains hold the most HBM that is up, reachable over NeuronLink alone?
-- parameter: top = 20 — how many
SELECT
    named.address AS domain, cluster.slug AS cluster, model.slug AS model, held.chips AS chips_up,
    held.chips * (model.device_memory_bytes / 1073741824) AS hbm_gib_up
FROM (
    SELECT node.domain_id, chip.chip_model_id, count(*) AS chips
    FROM chip CROSS JOIN node -- SQLite keeps to this order: other nodes are not looked at
    WHERE node.id = chip.id AND node.state IN ('up', 'degraded')
    GROUP BY node.domain_id, chip.chip_model_id
) AS held
JOIN chip_model AS model ON model.id = held.chip_model_id
JOIN domain ON domain.id = held.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN v_domain AS named ON named.cluster = cluster.slug AND named.ordinal = domain.ordinal
ORDER BY hbm_gib_up DESC, cluster, domain.ordinal
LIMIT :top
