-- A sweep that a service runs or has run.
-- id: its id in GraphQL
-- state: `running`, `done`, `failed` or `cancelled`
-- arguments: the arguments of `startSweep`, as JSON
-- started_at: when it was started
-- done: classes of failures that are solved, as last reported
-- total: all classes; null: not known yet
-- error: why it failed
-- example: SELECT id, state, done, total FROM v_sweep ORDER BY id DESC

SELECT
    id, state, arguments, started_at, done, total, error
FROM sweep
