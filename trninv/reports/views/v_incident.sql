-- One row for each root cause: a part that is unhealthy by itself and not because of its server or, for a link, of an end.
-- GraphQL's incidents also join causes of one change and causes close in time and place; `change` is the first part of that.
SELECT address, kind, cluster, state, factor, since, who, why, source, change, cascaded
FROM (
    SELECT v_unhealthy.*, count(*) OVER (PARTITION BY cluster, cause) - 1 AS cascaded
    FROM v_unhealthy
) AS part
WHERE address = cause
