-- title: Domains by what is free
-- answers: How many domains have so many whole servers free, and so many chips in all?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT cluster, model, free_servers, count(*) AS domains, sum(free) AS free_chips, sum(chips) AS chips
FROM v_domain_free
WHERE cluster = :cluster OR :cluster = ''
GROUP BY cluster, model, free_servers
ORDER BY cluster, model, free_servers DESC
