-- title: Jobs with failed chips
-- answers: Which running jobs have chips that are down or in maintenance, and which chips (degraded ones, links and NICs do not count)?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT job, address AS chip, state, role, started_at, cluster, system, external_id
FROM v_allocation
WHERE ended_at IS NULL AND state IN ('down', 'maintenance') AND (cluster = :cluster OR :cluster = '')
ORDER BY cluster, job, system, external_id, domain_ordinal, server_ordinal, ordinal
