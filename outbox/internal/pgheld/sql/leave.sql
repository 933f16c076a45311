-- Removes held records that were delivered, skipped, or became dead; the newest hundred of their
-- errors are kept. Those that an operator has parked or dropped in the meantime are left alone.
-- A record that would become dead under the number of another makes the statement fail, as in
-- hold.sql. $1 group, $2 epoch, $3 actor; $4 seq, $5 fate, $6 errors, $7 reason.
WITH v AS MATERIALIZED (
    SELECT * FROM unnest($4::bigint[], $5::text[], $6::jsonb[], $7::text[]) AS v(seq, fate, more, why)
    WHERE fate IN ('delivered', 'dead', 'skip')
), gone AS (
    DELETE FROM @{_held} h USING v
    WHERE h.relay_group = $1 AND h.seq = v.seq AND h.state <> 'parked'
    RETURNING h.*, v.fate, v.why,
              CASE WHEN jsonb_array_length(h.errors) + jsonb_array_length(v.more) <= 100 THEN h.errors || v.more
                   ELSE (SELECT pg_catalog.jsonb_agg(e.error ORDER BY e.n)
                         FROM jsonb_array_elements(h.errors || v.more) WITH ORDINALITY e(error, n)
                         WHERE e.n > jsonb_array_length(h.errors) + jsonb_array_length(v.more) - 100) END AS all_errors
), dead AS (
    INSERT INTO @{_dead} AS d (relay_group, seq, errors, reason, epoch,
                          created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers)
    SELECT $1, seq, all_errors, why, $2, created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers
    FROM gone WHERE fate = 'dead'
    ON CONFLICT (relay_group, seq) DO UPDATE
    SET errors = EXCLUDED.errors, reason = EXCLUDED.reason, epoch = EXCLUDED.epoch, died_at = clock_timestamp(),
        id = CASE WHEN d.id = EXCLUDED.id THEN d.id END
)
INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
SELECT fate, $3, why, $1, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('epoch', $2::bigint, 'errors', all_errors)
FROM gone WHERE fate IN ('dead', 'skip')
ORDER BY seq
