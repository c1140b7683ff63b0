-- title: Capacity by generation and cluster
-- answers: How many chips, how much HBM and how many dense BF16 TFLOPS does each cluster have, up or not, and what part is that of the chips listed?
-- parameter: generation = '' of v_cluster.generation — only this one, such as trn2
SELECT
    generation, address AS cluster, system, domains, servers, chips, hbm_gib, bf16_tflops,
    CAST(chips AS DOUBLE PRECISION) * 100 / sum(chips) OVER () AS percent_of_chips
FROM v_cluster
WHERE generation = :generation OR :generation = ''
ORDER BY generation, chips DESC, address
