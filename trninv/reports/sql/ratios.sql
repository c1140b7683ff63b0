-- title: Compute against bandwidth, by model of chip and of domain
-- answers: How many dense BF16 operations can a chip do per byte of HBM bandwidth, per byte of documented NeuronLink bandwidth in one direction, and per byte of the bandwidth of its links here?
-- chart: neuronlink_gb_per_s, wired_gb_per_s by wired_in
SELECT
    model.generation, model.name, wiring.slug AS wired_in,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) / 1000 AS bf16_tflops,
    model.device_memory_bytes / 1073741824 AS hbm_gib,
    CAST(model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS hbm_gb_per_s,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / model.device_memory_bandwidth_bytes_per_s AS bf16_flops_a_byte_of_hbm,
    CAST(links.exact AS DOUBLE PRECISION) / 1000000000 AS neuronlink_gb_per_s,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / links.exact AS bf16_flops_a_byte_of_neuronlink,
    CAST(model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / links.exact AS hbm_to_neuronlink,
    CAST(wired.carried AS DOUBLE PRECISION) / 1000000000 AS wired_gb_per_s,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / wired.carried AS bf16_flops_a_byte_of_wiring,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bf16_compute' AND picked = 'yes')
        AS bf16_disputed,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_disputed,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'device_memory_bandwidth' AND picked = 'yes')
        AS hbm_bandwidth_disputed,
    links.dispute AS neuronlink_disputed
FROM chip_model AS model
JOIN server_model AS server ON server.chip_model_id = model.id
JOIN domain_model AS wiring ON wiring.server_model_id = server.id
LEFT JOIN (
    -- what is documented of the domain before what is documented of its chip in any
    SELECT wiring.id AS domain_model_id, coalesce(own.exact, of_chip.exact) AS exact,
        CASE WHEN own.exact <> of_chip.exact THEN own.dispute ELSE of_chip.dispute END AS dispute
    FROM domain_model AS wiring
    JOIN server_model AS server ON server.id = wiring.server_model_id
    JOIN chip_model AS model ON model.id = server.chip_model_id
    LEFT JOIN v_fact AS of_chip
        ON of_chip.subject = model.slug AND of_chip.attribute = 'neuronlink_bandwidth' AND of_chip.picked = 'yes'
    LEFT JOIN v_fact AS own
        ON own.subject = wiring.slug AND own.attribute = 'neuronlink_bandwidth' AND own.picked = 'yes'
) AS links ON links.domain_model_id = wiring.id
LEFT JOIN (
    -- what the links of a chip sum to in the first domain of each model, of that chip which has most
    SELECT of_chip.domain_model_id, max(of_chip.carried) AS carried
    FROM (
        SELECT ends.domain_model_id, ends.chip_id, sum(ends.bandwidth_bytes_per_s) AS carried
        FROM (
            SELECT made.domain_model_id, link.a_id AS chip_id, link.bandwidth_bytes_per_s
            FROM (SELECT domain_model_id, min(id) AS id FROM domain GROUP BY domain_model_id) AS made
            JOIN link ON link.domain_id = made.id AND link.scope IN ('server', 'rack', 'domain')
            UNION ALL
            SELECT made.domain_model_id, link.b_id, link.bandwidth_bytes_per_s
            FROM (SELECT domain_model_id, min(id) AS id FROM domain GROUP BY domain_model_id) AS made
            JOIN link ON link.domain_id = made.id AND link.scope IN ('server', 'rack', 'domain')
        ) AS ends
        JOIN chip ON chip.id = ends.chip_id
        GROUP BY ends.domain_model_id, ends.chip_id
    ) AS of_chip
    GROUP BY of_chip.domain_model_id
) AS wired ON wired.domain_model_id = wiring.id
ORDER BY model.generation, wiring.slug
