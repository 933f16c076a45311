-- $1 group, $2 seqs, $3 actor, $4 reason, $5 what else is known of the actor, as JSON.
WITH r AS (
    UPDATE @{_held}
    SET state = 'retry', next_at = clock_timestamp(), attempts = 0, reason = NULL
    WHERE relay_group = $1 AND seq = ANY ($2::bigint[]) AND state = 'parked'
    RETURNING *
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
    SELECT 'redrive', $3, $4, relay_group, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('from', 'parked') || $5::jsonb
    FROM r ORDER BY seq
)
SELECT seq, coalesce(id_text, id::text), topic, key, held_at FROM r ORDER BY seq
