SELECT
    cluster.slug AS address, cluster.system, domain_model.name AS model, chip_model.generation, chip_model.slug AS chip_model, domain_model.wiring,
    cluster.domains,
    cluster.domains * domain_model.servers AS servers,
    cluster.domains * domain_model.chips AS chips,
    CAST(cluster.domains AS BIGINT) * domain_model.chips * chip_model.device_memory_bytes / 1073741824 AS hbm_gib,
    CAST(cluster.domains AS BIGINT) * domain_model.chips * chip_model.bf16_gflops / 1000 AS bf16_tflops
FROM cluster
JOIN domain_model ON domain_model.id = cluster.domain_model_id
JOIN server_model ON server_model.id = domain_model.server_model_id
JOIN chip_model ON chip_model.id = server_model.chip_model_id
