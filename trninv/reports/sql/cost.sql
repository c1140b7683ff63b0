-- title: Cost
-- answers: What would a cluster's chips cost at the documented price, if there is one, and as many H100s?
SELECT
    cluster.address AS cluster, cluster.chips * chip.exact AS usd, cluster.chips * h100.exact AS usd_for_as_many_h100,
    chip.exact AS usd_a_chip, h100.exact AS usd_an_h100,
    CAST(cluster.bf16_tflops AS DOUBLE PRECISION) * 1000 / (cluster.chips * chip.exact) AS bf16_gflops_a_usd,
    cluster.chips, cluster.hbm_gib, cluster.bf16_tflops, cluster.generation, chip.source_title AS price_from,
    (SELECT dispute FROM v_fact WHERE subject = cluster.chip_model AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed,
    (SELECT dispute FROM v_fact WHERE subject = cluster.chip_model AND attribute = 'bf16_compute' AND picked = 'yes')
        AS bf16_of_a_chip_disputed
FROM v_cluster AS cluster
LEFT JOIN v_fact AS chip ON chip.subject = cluster.chip_model AND chip.attribute = 'price' AND chip.picked = 'yes'
LEFT JOIN v_fact AS h100 ON h100.subject = 'h100' AND h100.attribute = 'price' AND h100.picked = 'yes'
ORDER BY coalesce(cluster.chips * chip.exact, 0) DESC, cluster.chips DESC, cluster.address
