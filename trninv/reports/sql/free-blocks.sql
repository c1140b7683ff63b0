-- title: Free servers by domain
-- answers: How many domains have each number of free servers, and how many free chips do they have?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT cluster, free_servers, count(*) AS domains, sum(free) AS free_chips, sum(chips) AS chips, model
FROM v_domain_free
WHERE cluster = :cluster OR :cluster = ''
GROUP BY cluster, model, free_servers
ORDER BY free_servers DESC, free_chips DESC, cluster, model
