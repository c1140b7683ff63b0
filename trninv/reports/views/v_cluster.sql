SELECT
    address, system,
    CASE WHEN count(*) = 1 THEN min(model) END AS model,
    CASE WHEN min(generation) = max(generation) THEN min(generation) END AS generation,
    CASE WHEN min(chip_model) = max(chip_model) THEN min(chip_model) END AS chip_model,
    CASE WHEN min(wiring) = max(wiring) THEN min(wiring) END AS wiring,
    CAST(sum(domains) AS INTEGER) AS domains,
    CAST(sum(servers) AS INTEGER) AS servers,
    CAST(sum(chips) AS INTEGER) AS chips,
    CAST(sum(hbm_gib) AS BIGINT) AS hbm_gib,
    CAST(sum(bf16_tflops) AS BIGINT) AS bf16_tflops
FROM (
    SELECT
        cluster.slug AS address, cluster.system, domain_model.name AS model, chip_model.generation,
        chip_model.slug AS chip_model, domain_model.wiring,
        part.domains, part.domains * domain_model.servers AS servers, part.domains * domain_model.chips AS chips,
        part.domains * domain_model.chips * chip_model.device_memory_bytes / 1073741824 AS hbm_gib,
        part.domains * domain_model.chips * chip_model.bf16_gflops / 1000 AS bf16_tflops
    FROM cluster
    JOIN (SELECT cluster_id, domain_model_id, count(*) AS domains FROM domain GROUP BY cluster_id, domain_model_id) AS part
        ON part.cluster_id = cluster.id
    JOIN domain_model ON domain_model.id = part.domain_model_id
    JOIN server_model ON server_model.id = domain_model.server_model_id
    JOIN chip_model ON chip_model.id = server_model.chip_model_id
) AS made
GROUP BY address, system
