-- title: Free servers by domain
-- answers: How many domains have each number of free servers, and how many free chips do they have?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT cluster, model, free_servers, count(*) AS domains, sum(free) AS free_chips, sum(chips) AS chips
FROM v_domain_free
WHERE cluster = :cluster OR :cluster = ''
GROUP BY cluster, model, free_servers
ORDER BY cluster, model, free_servers DESC
