-- title: Disputed facts
-- answers: Which numbers do sources disagree on, what does each say, and which one counts?
-- parameter: subject = '' of v_fact.subject — only of this one, such as trainium3
SELECT
    fact.subject, fact.attribute, fact.differs_in, fact.value, fact.picked, fact.written, fact.source_title, fact.quote,
    conflict.note
FROM v_conflict AS conflict
JOIN v_fact AS fact ON fact.subject = conflict.subject AND fact.attribute = conflict.attribute
WHERE conflict.subject = :subject OR :subject = ''
ORDER BY fact.subject, fact.attribute, fact.picked DESC, fact.source_title, fact.quote
