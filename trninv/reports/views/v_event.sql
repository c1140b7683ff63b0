-- A change of a state or, with an `action`, of a job or cordon.
-- address: address of the part; of a job, the smallest place with all its chips
-- state, factor: state and factor after the change
-- at: when
-- until: when the state changed again; null: it has not
-- who: who made the change
-- why: the reason given
-- before, factor_before: state and factor before the change
-- event: its number; numbers follow the order of the changes, even if the clock went back
-- batch: number of the first event of the same change; a server and its cascaded events share one
-- source: `command`, `api`, `import`, `drift` or `sql`; `source`, `batch` and `kind` are null if they were not
--   recorded
-- kind: `server`, `chip`, `switch`, `nic`, `network_node` or `link`; null with an `action`, as are the states
-- action: `allocate`, `move`, `release`, `cordon`, `uncordon`, `reserve` or `unreserve`; null: a change of state
-- job: the name of the job or reservation
-- example: SELECT address, at, why FROM v_event WHERE state = 'down' AND until IS NULL AND at < now() - INTERVAL '7
--   days'

SELECT
    address, at, CASE WHEN action IS NULL THEN lead(at) OVER (PARTITION BY address, action IS NULL ORDER BY id) END AS until,
    who, why, CASE WHEN action IS NULL THEN state_event.before END AS before,
    CAST(factor_ppm_before AS DOUBLE PRECISION) / 1000000 AS factor_before,
    CASE WHEN action IS NULL THEN state END AS state, CAST(factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor,
    id AS event, batch, source, kind, action, job
FROM state_event
