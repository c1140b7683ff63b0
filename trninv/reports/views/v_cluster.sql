-- A named fleet. If an adopted cluster has domains of several models, generation, model, chip_model and wiring are
-- null.
-- common: address, generation, model
-- chip_model: model of its chips, which is the subject of their facts
-- wiring: the pattern in which its chips are wired (`trninv/topology/patterns`)
-- system: the system it was seeded from, or `adopted`
-- domains: scale-up domains
-- servers: servers, in any state
-- chips: chips, in any state
-- hbm_gib: HBM of all chips, 2³⁰ bytes
-- bf16_tflops: dense BF16 performance of all chips, 10¹² operations per second
-- example: SELECT address, chips, hbm_gib FROM v_cluster ORDER BY chips DESC

SELECT
    cluster.slug AS address, cluster.system, total.model, total.generation, total.chip_model, total.wiring,
    cluster.domains, total.servers, total.chips, total.hbm_gib, total.bf16_tflops
FROM cluster
JOIN (
    SELECT
        domain_count.cluster_id,
        CASE WHEN count(*) = 1 THEN min(domain_model.name) END AS model,
        CASE WHEN min(chip_model.generation) = max(chip_model.generation) THEN min(chip_model.generation) END AS generation,
        CASE WHEN min(chip_model.slug) = max(chip_model.slug) THEN min(chip_model.slug) END AS chip_model,
        CASE WHEN min(domain_model.wiring) = max(domain_model.wiring) THEN min(domain_model.wiring) END AS wiring,
        CAST(sum(domain_count.domains * domain_model.servers) AS INTEGER) AS servers,
        CAST(sum(domain_count.domains * domain_model.chips) AS INTEGER) AS chips,
        CAST(sum(domain_count.domains * domain_model.chips * chip_model.device_memory_bytes / 1073741824) AS BIGINT) AS hbm_gib,
        CAST(sum(domain_count.domains * domain_model.chips * chip_model.bf16_gflops / 1000) AS BIGINT) AS bf16_tflops
    FROM (
        SELECT cluster_id, model_id AS domain_model_id, number AS domains FROM part_count WHERE kind = 'domain' AND number <> 0
    ) AS domain_count
    JOIN domain_model ON domain_model.id = domain_count.domain_model_id
    JOIN server_model ON server_model.id = domain_model.server_model_id
    JOIN chip_model ON chip_model.id = server_model.chip_model_id
    GROUP BY domain_count.cluster_id
) AS total ON total.cluster_id = cluster.id
