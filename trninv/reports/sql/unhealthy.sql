-- title: Unhealthy parts
-- answers: Which parts are degraded, down or in maintenance, themselves or with their server, since when, by whom and why?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT replace(kind, '_', ' ') AS kind, address, state, factor, since, who, why
FROM v_unhealthy
WHERE cluster = :cluster OR :cluster = ''
ORDER BY 1, 2
