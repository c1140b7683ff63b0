-- title: Free chips by server
-- answers: How many servers have each number of free chips, not counting servers without any?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT cluster, free_chips, count(*) AS servers, count(*) * free_chips AS chips, model
FROM (SELECT cluster, model, server, count(*) AS free_chips FROM v_free_chip GROUP BY cluster, model, server) AS free
WHERE cluster = :cluster OR :cluster = ''
GROUP BY cluster, model, free_chips
ORDER BY free_chips DESC, servers DESC, cluster, model
