-- A number or a text, as one document states it.
-- subject: what the number is about
-- attribute: which number
-- value: the exact value, formatted for people; for a text, the text
-- exact: the exact value in base units; null: not a number
-- dimension: bandwidth, capacity, compute, count, …
-- picked: `yes`: this is the fact in use
-- disputed: `yes`: sources disagree on it or on a number from which it follows, or it is read differently from how it
--   is written
-- assumed: `yes`: no document states it
-- as_written: value and unit as written
-- quote: the document's words
-- reading_unit: unit in which it is read, if that is not the one written
-- reading_direction: `one`, or `both` for the sum of both
-- reading_reason: why it is read this way
-- formula: how it follows from other facts
-- source, source_title: slug and title of the source
-- source_kind: `seed`, `vendor`, `driver`, `third_party`, `assumed`
-- source_date: when it was published
-- note: how to read the disagreement
-- differs_in: how the facts of its subject and attribute differ: `value`, `rounding` or `unit`; null: they agree
-- others: other values that sources give
-- dispute: its value with what contradicts it: other values, a disputed origin, or a note on how it is read; null:
--   nothing contradicts it, or only a unit does
-- example: SELECT value, as_written, source_title FROM v_fact WHERE subject = 'trainium3' AND attribute =
--   'neuronlink_bandwidth'

SELECT
    fact.subject, fact.attribute, fact.shown AS value, fact.value AS exact, fact.dimension,
    CASE WHEN fact.preference = 0 THEN 'yes' ELSE 'no' END AS picked,
    CASE WHEN fact.disputed THEN 'yes' ELSE 'no' END AS disputed,
    CASE WHEN source.kind = 'assumed' THEN 'yes' ELSE 'no' END AS assumed,
    rtrim(fact.as_written || ' ' || fact.unit) AS as_written, fact.quote, fact.reading_unit, fact.reading_direction,
    fact.reading_reason, fact.formula, source.slug AS source, source.title AS source_title, source.kind AS source_kind,
    source.date AS source_date, fact.note, fact.differs_in, fact.others, fact.dispute
FROM fact
JOIN source ON source.id = fact.source_id
