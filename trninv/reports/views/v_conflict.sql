-- A number that documents disagree on, or that must be read differently from how it is written.
-- subject: what the number is about
-- attribute: which number
-- value: the exact value, formatted for people
-- facts: how many facts there are
-- lowest_exact, highest_exact: the lowest and the highest value in base units; null: not a number
-- dimension: bandwidth, capacity, compute, count, …
-- differs_in: `value`: the values differ; `rounding`: the less precise values are the most precise one, rounded;
--   `unit`: the values are equal if one of the units is read as the other
-- others: the other values
-- note: how to read the disagreement
-- example: SELECT attribute, value, facts, note FROM v_conflict WHERE subject = 'trainium3'

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
