-- title: Disputed facts
-- answers: On which numbers do sources disagree, what does each state, and which one is selected?
-- parameter: subject = '' of v_fact.subject — only this one, such as trainium3
SELECT
    fact.subject, fact.attribute, fact.value, fact.picked, fact.source_title, fact.differs_in, fact.as_written, fact.quote,
    conflict.note
FROM v_conflict AS conflict
JOIN v_fact AS fact ON fact.subject = conflict.subject AND fact.attribute = conflict.attribute
WHERE conflict.subject = :subject OR :subject = ''
ORDER BY fact.subject, fact.attribute, fact.picked DESC, fact.source_title, fact.quote
