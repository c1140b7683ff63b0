SELECT
    picked.subject, picked.attribute, picked.shown AS value, said.facts, said.lowest AS lowest_exact,
    said.highest AS highest_exact, picked.dimension, picked.differs_in, picked.others, picked.note
FROM (
    SELECT subject, attribute, count(*) AS facts, min(value) AS lowest, max(value) AS highest
    FROM fact
    WHERE differs_in IS NOT NULL
    GROUP BY subject, attribute
) AS said
JOIN fact AS picked ON picked.subject = said.subject AND picked.attribute = said.attribute AND picked.preference = 0
