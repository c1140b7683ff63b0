-- title: Jobs with failed chips
-- answers: Which jobs have chips that carry nothing now, and which chips?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT job, system, external_id, cluster, address AS chip, role, state, began
FROM v_allocation
WHERE ended IS NULL AND state IN ('down', 'maintenance') AND (cluster = :cluster OR :cluster = '')
ORDER BY cluster, job, system, external_id, domain_ordinal, server_ordinal, ordinal
