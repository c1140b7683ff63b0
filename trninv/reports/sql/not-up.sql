-- title: Links, chips and servers that are not up
-- answers: What is down, degraded or in maintenance?
-- parameter: cluster = '' — only this one
SELECT 'chip' AS kind, address, state, factor FROM v_chip
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'link', address, state, factor FROM v_link
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'nic', address, state, factor FROM v_nic
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'server', address, state, factor FROM v_server
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
UNION ALL
SELECT 'switch', address, state, factor FROM v_switch
WHERE state <> 'up' AND (cluster = :cluster OR :cluster = '')
ORDER BY 1, 2
