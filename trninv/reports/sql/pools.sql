-- title: Domains with the most HBM
-- answers: Which scale-up domains have the most HBM in chips that are up or degraded, whether or not links that are up join them (trninv pool says what they reach)?
-- parameter: top = 20 — how many
SELECT
    domain AS domain, cluster, model, count(*) AS chips_up, sum(hbm_gib) AS hbm_gib_up,
    (SELECT dispute FROM v_fact WHERE subject = v_chip.model AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed
FROM v_chip
WHERE state IN ('up', 'degraded')
GROUP BY domain, cluster, domain_ordinal, model
ORDER BY hbm_gib_up DESC, cluster, domain_ordinal
LIMIT :top
