-- title: The largest memory pools
-- answers: Which scale-up domains hold the most HBM that is up, reachable over NeuronLink alone?
-- parameter: top = 20 — how many
SELECT
    domain AS domain, cluster, model, count(*) AS chips_up, sum(hbm_gib) AS hbm_gib_up
FROM v_chip
WHERE state IN ('up', 'degraded')
GROUP BY domain, cluster, domain_ordinal, model
ORDER BY hbm_gib_up DESC, cluster, domain_ordinal
LIMIT :top
