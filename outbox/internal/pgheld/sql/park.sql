-- Parks records that are being tried again. A relay that has one in flight leaves it parked: see
-- leave.sql. $1 group, $2 seqs, $3 actor, $4 reason, $5 further details of the actor, as JSON.
WITH r AS (
    UPDATE @{_held}
    SET state = 'parked', next_at = NULL, held_at = clock_timestamp(), reason = $4
    WHERE relay_group = $1 AND seq = ANY ($2::bigint[]) AND state = 'retry'
    RETURNING *
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
    SELECT 'park', $3, $4, relay_group, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('from', 'retry') || $5::jsonb
    FROM r ORDER BY seq
)
SELECT seq, coalesce(id_text, id::text), topic, key, held_at FROM r ORDER BY seq
