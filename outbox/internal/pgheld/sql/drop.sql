-- $1 group, $2 seqs, $3 actor, $4 reason, $5 action, $6 further details of the actor, as JSON.
-- The note keeps the errors.
WITH r AS (
    DELETE FROM @{_held} WHERE relay_group = $1 AND seq = ANY ($2::bigint[]) RETURNING *
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
    SELECT $5, $3, $4, relay_group, seq, coalesce(id_text, id::text), topic, key,
           pg_catalog.jsonb_build_object('from', state, 'errors', errors) || $6::jsonb
    FROM r ORDER BY seq
)
SELECT seq, coalesce(id_text, id::text), topic, key, held_at FROM r ORDER BY seq
