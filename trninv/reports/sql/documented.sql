-- title: What is documented against what is seeded
-- answers: Do the totals of each cluster's system agree with what the documents say of it?
SELECT
    cluster.address AS cluster, fact.attribute, fact.value AS documented, fact.exact AS documented_exact,
    CASE fact.attribute
        WHEN 'chips' THEN cluster.chips
        WHEN 'servers' THEN cluster.servers
        ELSE CAST(cluster.hbm_gib AS BIGINT) * 1073741824 END AS seeded_exact,
    CASE WHEN fact.exact = CASE fact.attribute
        WHEN 'chips' THEN cluster.chips
        WHEN 'servers' THEN cluster.servers
        ELSE CAST(cluster.hbm_gib AS BIGINT) * 1073741824 END THEN 'yes' ELSE 'no' END AS agrees,
    fact.picked, fact.source_title, fact.quote
FROM v_cluster AS cluster
JOIN v_fact AS fact ON fact.subject = cluster.system
WHERE fact.attribute IN ('chips', 'servers', 'device_memory') AND fact.exact IS NOT NULL
ORDER BY cluster.address, fact.attribute, fact.picked DESC, fact.source_title
