SELECT
    id, state, arguments, started_at, done, total, error
FROM sweep
