-- Notes the attempts at held records that are tried again later, or parked. Of a record's errors
-- the newest hundred are kept, since a record that blocks is tried for ever. $1 group, $2 epoch,
-- $3 actor; $4 seq, $5 fate, $6 attempts, $7 errors, $8 retry in µs, $9 reason.
WITH v AS MATERIALIZED (
    SELECT * FROM unnest($4::bigint[], $5::text[], $6::integer[], $7::jsonb[], $8::bigint[], $9::text[])
        AS v(seq, fate, attempts, more, retry_in, why)
    WHERE fate IN ('retry', 'park')
), kept AS (
    UPDATE @{_held} h
    SET state = CASE v.fate WHEN 'park' THEN 'parked' ELSE 'retry' END,
        next_at = CASE v.fate WHEN 'retry' THEN clock_timestamp() + v.retry_in::float8 * interval '1 microsecond' END,
        attempts = h.attempts + v.attempts,
        errors = CASE WHEN jsonb_array_length(h.errors) + jsonb_array_length(v.more) <= 100 THEN h.errors || v.more
                      ELSE (SELECT pg_catalog.jsonb_agg(e.error ORDER BY e.n)
                            FROM jsonb_array_elements(h.errors || v.more) WITH ORDINALITY e(error, n)
                            WHERE e.n > jsonb_array_length(h.errors) + jsonb_array_length(v.more) - 100) END,
        reason = coalesce(v.why, h.reason),
        held_at = CASE v.fate WHEN 'park' THEN clock_timestamp() ELSE h.held_at END,
        epoch = $2
    FROM v
    WHERE h.relay_group = $1 AND h.seq = v.seq AND h.state <> 'parked'
    RETURNING h.*, v.fate
)
INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
SELECT fate, $3, reason, $1, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('epoch', $2::bigint, 'errors', errors)
FROM kept WHERE fate = 'park'
ORDER BY seq
