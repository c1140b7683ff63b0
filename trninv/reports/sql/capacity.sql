-- title: Capacity
-- answers: How many chips, how much HBM and how much dense BF16 compute does each cluster have, healthy or not?
-- parameter: generation = '' of chip_model.generation — only this one, such as trn2
-- chart: hbm_gib by cluster
WITH domain_count AS (
    SELECT cluster_id, model_id AS domain_model_id, number AS domains FROM part_count WHERE kind = 'domain' AND number <> 0
), cluster_total AS (
    SELECT
        chip.generation, cluster.slug AS cluster, cluster.system, chip.slug AS chip_model,
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
    GROUP BY chip.generation, cluster.slug, cluster.system, chip.slug
)
SELECT
    cluster, chips, hbm_gib, bf16_tflops,
    CAST(chips AS DOUBLE PRECISION) * 100 / sum(chips) OVER () AS percent_of_chips,
    servers, domains, generation, system,
    (SELECT dispute FROM v_fact WHERE subject = chip_model AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed,
    (SELECT dispute FROM v_fact WHERE subject = chip_model AND attribute = 'bf16_compute' AND picked = 'yes')
        AS bf16_of_a_chip_disputed
FROM cluster_total
WHERE generation = :generation OR :generation = ''
ORDER BY chips DESC, cluster, generation
