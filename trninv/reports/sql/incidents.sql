-- title: Incidents by change
-- answers: Which changes still leave parts unhealthy, since when, by whom and why, and how many parts?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT
    min(cause) AS first_cause, count(*) AS parts, min(since) AS since,
    min(CASE WHEN address = cause THEN why END) AS why, min(CASE WHEN address = cause THEN who END) AS who,
    sum(CASE WHEN address = cause THEN 1 ELSE 0 END) AS causes,
    sum(CASE WHEN kind = 'server' THEN 1 ELSE 0 END) AS servers,
    sum(CASE WHEN kind = 'chip' THEN 1 ELSE 0 END) AS chips,
    sum(CASE WHEN kind = 'link' THEN 1 ELSE 0 END) AS links,
    change
FROM v_unhealthy
WHERE cluster = :cluster OR :cluster = ''
GROUP BY change
ORDER BY parts DESC, change
