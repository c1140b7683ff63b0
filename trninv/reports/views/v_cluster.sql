SELECT
    cluster.slug AS address, cluster.system, made.model, made.generation, made.chip_model, made.wiring,
    cluster.domains, made.servers, made.chips, made.hbm_gib, made.bf16_tflops
FROM cluster
JOIN (
    SELECT
        part.cluster_id,
        CASE WHEN count(*) = 1 THEN min(domain_model.name) END AS model,
        CASE WHEN min(chip_model.generation) = max(chip_model.generation) THEN min(chip_model.generation) END AS generation,
        CASE WHEN min(chip_model.slug) = max(chip_model.slug) THEN min(chip_model.slug) END AS chip_model,
        CASE WHEN min(domain_model.wiring) = max(domain_model.wiring) THEN min(domain_model.wiring) END AS wiring,
        CAST(sum(part.domains * domain_model.servers) AS INTEGER) AS servers,
        CAST(sum(part.domains * domain_model.chips) AS INTEGER) AS chips,
        CAST(sum(part.domains * domain_model.chips * chip_model.device_memory_bytes / 1073741824) AS BIGINT) AS hbm_gib,
        CAST(sum(part.domains * domain_model.chips * chip_model.bf16_gflops / 1000) AS BIGINT) AS bf16_tflops
    FROM (
        SELECT cluster_id, domain_model_id, count(*) AS domains FROM domain GROUP BY cluster_id, domain_model_id
    ) AS part
    JOIN domain_model ON domain_model.id = part.domain_model_id
    JOIN server_model ON server_model.id = domain_model.server_model_id
    JOIN chip_model ON chip_model.id = server_model.chip_model_id
    GROUP BY part.cluster_id
) AS made ON made.cluster_id = cluster.id
