-- title: Servers by free chips
-- answers: How many servers have so many free chips, of those that have any (trninv fragmentation says which sizes of jobs can use them)?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT cluster, model, free_chips, count(*) AS servers, count(*) * free_chips AS chips
FROM (SELECT cluster, model, server, count(*) AS free_chips FROM v_free_chip GROUP BY cluster, model, server) AS free
WHERE cluster = :cluster OR :cluster = ''
GROUP BY cluster, model, free_chips
ORDER BY cluster, model, free_chips DESC
