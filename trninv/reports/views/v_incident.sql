-- A root cause: an unhealthy part whose server is up or, for a link, whose ends are up. `trninv incidents` also
-- joins root causes of one change, and those that failed in one rack within five minutes.
-- common: cluster, state, factor
-- address: the root cause
-- kind: `server`, `chip`, `switch`, `nic`, `network_node` or `link`
-- since: when it became unhealthy; null: not recorded
-- who, why, source: author, reason and origin of the change
-- change: number of the change that made it unhealthy
-- cascaded: how many other unhealthy parts follow from it
-- example: SELECT address, state, since, cascaded FROM v_incident ORDER BY cascaded DESC

-- One row for each root cause: a part that is unhealthy by itself and not because of its server or, for a link, of an end.
-- GraphQL's incidents also join causes of one change and causes close in time and place; `change` is the first part of that.
SELECT address, kind, cluster, state, factor, since, who, why, source, change, cascaded
FROM (
    SELECT v_unhealthy.*, count(*) OVER (PARTITION BY cluster, cause) - 1 AS cascaded
    FROM v_unhealthy
) AS part
WHERE address = cause
