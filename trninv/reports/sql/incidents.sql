-- title: Unhealthy parts by change
-- answers: Which changes still leave parts unhealthy, since when, by whom and why, and how many parts?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT
    change, min(since) AS since, min(CASE WHEN address = cause THEN who END) AS who,
    min(CASE WHEN address = cause THEN why END) AS why,
    sum(CASE WHEN address = cause THEN 1 ELSE 0 END) AS causes, count(*) AS parts,
    min(cause) AS first_cause,
    sum(CASE WHEN kind = 'server' THEN 1 ELSE 0 END) AS servers,
    sum(CASE WHEN kind = 'chip' THEN 1 ELSE 0 END) AS chips,
    sum(CASE WHEN kind = 'link' THEN 1 ELSE 0 END) AS links
FROM v_unhealthy
WHERE cluster = :cluster OR :cluster = ''
GROUP BY change
ORDER BY change
