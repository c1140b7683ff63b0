-- title: Capacity
-- answers: How many chips, HBM and dense BF16 compute does each cluster have, and how many of the chips work and are free?
-- parameter: generation = '' of chip_model.generation — only this one, such as trn2
-- chart: chips_free by cluster
WITH domain_count AS (
    SELECT cluster_id, model_id AS domain_model_id, number AS domains FROM part_count WHERE kind = 'domain' AND number <> 0
), cordoned AS ( -- CROSS JOIN makes SQLite start with the cordons, which are few
    SELECT chip.chip_model_id, node.cluster_id, count(*) AS number
    FROM cordon CROSS JOIN chip CROSS JOIN node
    WHERE cordon.ended_at IS NULL AND chip.server_id = cordon.server_id AND node.id = chip.id
        AND node.state IN ('up', 'degraded')
        AND NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.chip_id = chip.id AND allocation.ended_at IS NULL)
    GROUP BY chip.chip_model_id, node.cluster_id
), cluster_use AS (
    SELECT
        part_count.cluster_id, part_count.model_id AS chip_model_id,
        sum(CASE part_count.kind WHEN 'chip' THEN part_count.number ELSE 0 END) AS chips_working,
        sum(CASE part_count.kind WHEN 'chip' THEN part_count.number ELSE -part_count.number END)
            - max(coalesce(cordoned.number, 0)) AS chips_free
    FROM part_count
    LEFT JOIN cordoned ON cordoned.cluster_id = part_count.cluster_id AND cordoned.chip_model_id = part_count.model_id
    WHERE part_count.kind IN ('chip', 'allocation') AND part_count.state IN ('up', 'degraded')
    GROUP BY part_count.cluster_id, part_count.model_id
), cluster_total AS (
    SELECT
        cluster.id AS cluster_id, chip.id AS chip_model_id, chip.generation, cluster.slug AS cluster, cluster.system, chip.slug AS chip_model,
        CAST(sum(domain_count.domains) AS INTEGER) AS domains,
        CAST(sum(domain_count.domains * model.servers) AS INTEGER) AS servers,
        CAST(sum(domain_count.domains * model.chips) AS INTEGER) AS chips,
        CAST(sum(domain_count.domains * model.chips * chip.device_memory_bytes / 1073741824) AS BIGINT) AS hbm_gib,
        CAST(sum(domain_count.domains * model.chips * chip.bf16_gflops / 1000) AS BIGINT) AS bf16_tflops
    FROM cluster
    JOIN domain_count ON domain_count.cluster_id = cluster.id
    JOIN domain_model AS model ON model.id = domain_count.domain_model_id
    JOIN server_model AS server ON server.id = model.server_model_id
    JOIN chip_model AS chip ON chip.id = server.chip_model_id
    GROUP BY cluster.id, chip.id, chip.generation, cluster.slug, cluster.system, chip.slug
)
SELECT
    cluster, chips, CAST(coalesce(chips_working, 0) AS BIGINT) AS chips_working,
    CAST(coalesce(chips_free, 0) AS BIGINT) AS chips_free, hbm_gib, bf16_tflops,
    CAST(chips AS DOUBLE PRECISION) * 100 / sum(chips) OVER () AS percent_of_chips,
    servers, domains, generation, system,
    (SELECT dispute FROM v_fact WHERE subject = chip_model AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed,
    (SELECT dispute FROM v_fact WHERE subject = chip_model AND attribute = 'bf16_compute' AND picked = 'yes')
        AS bf16_of_a_chip_disputed
FROM cluster_total
LEFT JOIN cluster_use ON cluster_use.cluster_id = cluster_total.cluster_id
    AND cluster_use.chip_model_id = cluster_total.chip_model_id
WHERE generation = :generation OR :generation = ''
ORDER BY chips DESC, cluster, generation
