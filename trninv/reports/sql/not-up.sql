-- title: What is not up
-- answers: Which chips, links, NICs, network nodes, servers and switches are degraded, down or in maintenance, themselves or with their server?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT 'chip' AS kind, address, state, factor FROM v_chip
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'link', address, state, factor FROM v_link
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'nic', address, state, factor FROM v_nic
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'network node', address, state, factor FROM v_network_node
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'server', address, state, factor FROM v_server
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'switch', address, state, factor FROM v_switch
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
ORDER BY 1, 2
