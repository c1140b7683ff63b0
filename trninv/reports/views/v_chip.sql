SELECT
    {{ chip_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ server_address }} AS server, server.ordinal AS server_ordinal,
    {{ rack_address }} AS rack, rack.ordinal AS rack_ordinal,
    chip.ordinal, tray.ordinal AS tray, chip_model.slug AS model, chip_model.generation, chip_model.cores,
    chip_model.device_memory_bytes / 1073741824 AS hbm_gib,
    CAST(chip_model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS hbm_gb_per_s,
    CAST(chip_model.mxfp8_gflops AS DOUBLE PRECISION) / 1000 AS mxfp8_tflops,
    CAST(chip_model.fp8_gflops AS DOUBLE PRECISION) / 1000 AS fp8_tflops,
    CAST(chip_model.bf16_gflops AS DOUBLE PRECISION) / 1000 AS bf16_tflops,
    CAST(chip_model.fp32_gflops AS DOUBLE PRECISION) / 1000 AS fp32_tflops,
    CAST(chip_model.sparse_gflops AS DOUBLE PRECISION) / 1000 AS sparse_tflops,
    node.state, CAST(node.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor
FROM chip
JOIN node ON node.id = chip.id
JOIN server ON server.id = chip.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = server.rack_id
JOIN chip_model ON chip_model.id = chip.chip_model_id
LEFT JOIN tray ON tray.id = chip.tray_id
