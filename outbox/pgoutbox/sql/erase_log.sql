-- Deletes messages of the log: numbers $1, whose ids are among $2. $3 actor, $4 reason.
WITH r AS (
    DELETE FROM @{} WHERE seq = ANY ($1::bigint[]) AND coalesce(id_text, id::text) = ANY ($2::text[])
    RETURNING seq, coalesce(id_text, id::text) AS id, topic
)
INSERT INTO @{_audit} (action, actor, reason, seq, id, topic, details)
SELECT 'erase', $3, $4, seq, id, topic, '{"from": "log"}' FROM r ORDER BY seq
