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
