-- Parked records, and those that are being tried again: they become due at once. $1 group, $2
-- seqs, $3 actor, $4 reason, $5 further details of the actor, as JSON.
WITH o AS MATERIALIZED (
    SELECT seq, state FROM @{_held} WHERE relay_group = $1 AND seq = ANY ($2::bigint[]) AND state <> 'wait'
), r AS (
    UPDATE @{_held} h
    SET state = 'retry', next_at = clock_timestamp(), attempts = 0, reason = NULL
    FROM o WHERE h.relay_group = $1 AND h.seq = o.seq
    RETURNING h.*, o.state AS was
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
    SELECT 'redrive', $3, $4, relay_group, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('from', was) || $5::jsonb
    FROM r ORDER BY seq
)
SELECT seq, coalesce(id_text, id::text), topic, key, held_at FROM r ORDER BY seq
