-- title: Compute per byte
-- answers: How many dense BF16 operations can a chip do per byte of HBM bandwidth, and per byte of NeuronLink bandwidth, documented and wired?
-- chart: neuronlink_gb_per_s, wired_gb_per_s by wired_in
SELECT
    wiring.slug AS wired_in,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / model.device_memory_bandwidth_bytes_per_s AS bf16_flops_a_byte_of_hbm,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / links.exact AS bf16_flops_a_byte_of_neuronlink,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) * 1000000000 / wired.carried AS bf16_flops_a_byte_of_wiring,
    CAST(model.bf16_gflops AS DOUBLE PRECISION) / 1000 AS bf16_tflops,
    CAST(model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS hbm_gb_per_s,
    CAST(links.exact AS DOUBLE PRECISION) / 1000000000 AS neuronlink_gb_per_s,
    CAST(wired.carried AS DOUBLE PRECISION) / 1000000000 AS wired_gb_per_s,
    CAST(model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / links.exact AS hbm_to_neuronlink,
    model.device_memory_bytes / 1073741824 AS hbm_gib, model.name, model.generation,
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
    -- the documented number for this domain model, or else the one for its chip in any domain
    SELECT wiring.id AS domain_model_id, coalesce(domain_fact.exact, chip_fact.exact) AS exact,
        CASE WHEN domain_fact.exact <> chip_fact.exact THEN domain_fact.dispute ELSE chip_fact.dispute END AS dispute
    FROM domain_model AS wiring
    JOIN server_model AS server ON server.id = wiring.server_model_id
    JOIN chip_model AS model ON model.id = server.chip_model_id
    LEFT JOIN v_fact AS chip_fact
        ON chip_fact.subject = model.slug AND chip_fact.attribute = 'neuronlink_bandwidth' AND chip_fact.picked = 'yes'
    LEFT JOIN v_fact AS domain_fact
        ON domain_fact.subject = wiring.slug AND domain_fact.attribute = 'neuronlink_bandwidth'
        AND domain_fact.picked = 'yes'
) AS links ON links.domain_model_id = wiring.id
LEFT JOIN (
    -- the largest sum of a chip's link bandwidths in the first domain of each model
    SELECT chip_sum.domain_model_id, max(chip_sum.carried) AS carried
    FROM (
        SELECT link_end.domain_model_id, link_end.chip_id, sum(link_end.bandwidth_bytes_per_s) AS carried
        FROM (
            SELECT first_domain.domain_model_id, link.a_id AS chip_id, link.bandwidth_bytes_per_s
            FROM (SELECT domain_model_id, min(id) AS id FROM domain GROUP BY domain_model_id) AS first_domain
            JOIN link ON link.domain_id = first_domain.id AND link.scope IN ('server', 'rack', 'domain')
            UNION ALL
            SELECT first_domain.domain_model_id, link.b_id, link.bandwidth_bytes_per_s
            FROM (SELECT domain_model_id, min(id) AS id FROM domain GROUP BY domain_model_id) AS first_domain
            JOIN link ON link.domain_id = first_domain.id AND link.scope IN ('server', 'rack', 'domain')
        ) AS link_end
        JOIN chip ON chip.id = link_end.chip_id
        GROUP BY link_end.domain_model_id, link_end.chip_id
    ) AS chip_sum
    GROUP BY chip_sum.domain_model_id
) AS wired ON wired.domain_model_id = wiring.id
ORDER BY model.generation, wiring.slug
