-- title: Unhealthy parts
-- answers: Which parts are degraded, down or in maintenance, themselves or with their server, since when, by whom and why?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT address, state, since, why, who, factor, replace(kind, '_', ' ') AS kind, cause, change
FROM v_unhealthy
WHERE cluster = :cluster OR :cluster = ''
ORDER BY
    CASE state WHEN 'down' THEN 0 WHEN 'degraded' THEN 1 ELSE 2 END,
    CASE kind WHEN 'server' THEN 0 WHEN 'switch' THEN 1 WHEN 'network_node' THEN 2 WHEN 'chip' THEN 3 WHEN 'link' THEN 4 ELSE 5 END,
    address
