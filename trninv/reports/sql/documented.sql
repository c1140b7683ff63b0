-- title: Documented totals
-- answers: Do the chips, servers and HBM of each cluster, healthy or not, agree with the documents?
WITH seeded AS (
    SELECT
        cluster.address AS cluster, cluster.system,
        CASE WHEN model.id IS NULL THEN 1 ELSE cluster.domains END AS systems,
        cluster.chips, cluster.servers, CAST(cluster.hbm_gib AS BIGINT) * 1073741824 AS hbm
    FROM v_cluster AS cluster
    LEFT JOIN domain_model AS model ON model.slug = cluster.system
), compared AS (
    SELECT
        seeded.cluster, fact.attribute, fact.value AS documented, fact.exact AS documented_exact, fact.as_written,
        CASE fact.attribute
            WHEN 'chips' THEN seeded.chips
            WHEN 'servers' THEN seeded.servers
            ELSE seeded.hbm END / seeded.systems AS seeded_exact,
        fact.picked, fact.disputed, fact.source_title, fact.quote
    FROM seeded
    JOIN v_fact AS fact ON fact.subject = seeded.system
    WHERE fact.attribute IN ('chips', 'servers', 'device_memory') AND fact.exact IS NOT NULL
)
SELECT
    cluster, attribute,
    CASE
        WHEN documented_exact = seeded_exact THEN 'yes'
        WHEN as_written LIKE 'over %' AND seeded_exact > documented_exact THEN 'yes'
        WHEN as_written LIKE 'up to %' AND seeded_exact < documented_exact THEN 'yes'
        ELSE 'no' END AS agrees,
    documented, documented_exact, seeded_exact, picked, disputed, source_title, quote
FROM compared
ORDER BY agrees, cluster, attribute, picked DESC, source_title, documented_exact, quote
