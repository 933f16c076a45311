-- Deletes what erase_delayed_find.sql finds. If a message is just being moved into the log, it
-- waits for that, and the message is found there. $6 actor, $7 reason.
WITH r AS (
    DELETE FROM @{_delayed}
    WHERE key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR coalesce(id_text, id::text) = ANY ($3::text[]) OR headers ->> $4::text = $5::text
    RETURNING no, coalesce(id_text, id::text) AS id, topic
)
INSERT INTO @{_audit} (action, actor, reason, id, topic, details)
SELECT 'erase', $6, $7, id, topic, '{"from": "delayed"}' FROM r ORDER BY no
