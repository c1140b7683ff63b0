SELECT
    address, at, CASE WHEN action IS NULL THEN lead(at) OVER (PARTITION BY address, action IS NULL ORDER BY id) END AS until,
    who, why, CASE WHEN action IS NULL THEN state_event.before END AS before,
    CAST(factor_ppm_before AS DOUBLE PRECISION) / 1000000 AS factor_before,
    CASE WHEN action IS NULL THEN state END AS state, CAST(factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor,
    id AS event, batch, source, kind, action, job
FROM state_event
