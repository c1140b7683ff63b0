SELECT
    picked.subject, picked.attribute, picked.shown AS value, stated.facts, stated.lowest AS lowest_exact,
    stated.highest AS highest_exact, picked.dimension, picked.differs_in, picked.others, picked.note
FROM (
    SELECT subject, attribute, count(*) AS facts, min(value) AS lowest, max(value) AS highest
    FROM fact
    WHERE differs_in IS NOT NULL
    GROUP BY subject, attribute
) AS stated
JOIN fact AS picked ON picked.subject = stated.subject AND picked.attribute = stated.attribute AND picked.preference = 0
