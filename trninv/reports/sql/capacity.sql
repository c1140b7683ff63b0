-- title: Capacity by generation and cluster
-- answers: How many chips, how much HBM and how many dense BF16 TFLOPS does each cluster have, up or not, and what part is that of the chips listed?
-- parameter: generation = '' of v_cluster.generation — only this one, such as trn2
SELECT
    generation, address AS cluster, system, domains, servers, chips, hbm_gib, bf16_tflops,
    CAST(chips AS DOUBLE PRECISION) * 100 / sum(chips) OVER () AS percent_of_chips,
    (SELECT dispute FROM v_fact WHERE subject = chip_model AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed,
    (SELECT dispute FROM v_fact WHERE subject = chip_model AND attribute = 'bf16_compute' AND picked = 'yes')
        AS bf16_of_a_chip_disputed
FROM v_cluster
WHERE generation = :generation OR :generation = ''
ORDER BY generation, chips DESC, address
