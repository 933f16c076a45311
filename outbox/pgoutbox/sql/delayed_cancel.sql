-- Cancels messages that are not due yet, with a note. If a message is just being moved into the
-- log, it waits for that, and then there is nothing to cancel. $1 the id, $2 its text if it is
-- not a canonical UUID, $3 actor, $4 reason, $5 further details of the actor, as JSON.
WITH d AS (
    DELETE FROM @{_delayed}
    WHERE id = $1 AND id_text IS NOT DISTINCT FROM $2
    RETURNING no, id, id_text, topic, key, not_before
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, id, topic, key, details)
    SELECT 'cancel_delayed', $3, $4, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('not_before', not_before) || $5::jsonb
    FROM d
)
SELECT coalesce(id_text, id::text) FROM d ORDER BY not_before, no
