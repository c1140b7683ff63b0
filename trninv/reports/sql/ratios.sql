-- title: Compute against bandwidth, by model of chip
-- answers: How many dense BF16 operations can a chip do for each byte of its HBM, and for each byte that all its NeuronLink ports carry in one direction?
-- chart: bf16_tflops, hbm_gb_per_s by name
SELECT
    model.generation, model.name, CAST(model.bf16_gflops AS DOUBLE PRECISION) / 1000 AS bf16_tflops,
    model.device_memory_bytes / 1073741824 AS hbm_gib,
    CAST(model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS hbm_gb_per_s,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / model.device_memory_bandwidth_bytes_per_s AS bf16_flops_a_byte_of_hbm,
    CAST(links.exact AS DOUBLE PRECISION) / 1000000000 AS neuronlink_gb_per_s,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / links.exact AS bf16_flops_a_byte_of_neuronlink,
    CAST(model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / links.exact AS hbm_to_neuronlink,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bf16_compute' AND picked = 'yes')
        AS bf16_disputed,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_disputed,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'device_memory_bandwidth' AND picked = 'yes')
        AS hbm_bandwidth_disputed,
    links.dispute AS neuronlink_disputed
FROM chip_model AS model
LEFT JOIN v_fact AS links
    ON links.subject = model.slug AND links.attribute = 'neuronlink_bandwidth' AND links.picked = 'yes'
ORDER BY model.generation
