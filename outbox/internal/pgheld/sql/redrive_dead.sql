-- A record with the number of another held record makes it fail: see hold.sql. $1 group, $2 seqs,
-- $3 actor, $4 reason, $5 further details of the actor, as JSON.
WITH r AS (
    DELETE FROM @{_dead} WHERE relay_group = $1 AND seq = ANY ($2::bigint[]) RETURNING *
), held AS (
    INSERT INTO @{_held} AS h (relay_group, seq, state, next_at, errors, epoch,
                          created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers)
    SELECT relay_group, seq, 'retry', clock_timestamp(), errors, epoch,
           created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers
    FROM r
    ON CONFLICT (relay_group, seq) DO UPDATE SET id = NULL WHERE h.id <> EXCLUDED.id
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
    SELECT 'redrive', $3, $4, relay_group, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('from', 'dead') || $5::jsonb
    FROM r ORDER BY seq
)
SELECT seq, coalesce(id_text, id::text), topic, key, died_at FROM r ORDER BY seq
