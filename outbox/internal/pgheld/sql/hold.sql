-- Copies of a page's records, as the relay has read them, in one statement. A record that was set
-- aside already is unchanged. A record with the number of a different one, of an earlier log,
-- makes the statement fail, by an id that is null. $1 group, $2 epoch, $3 actor, the rest are
-- columns. See rule R6.
WITH m AS MATERIALIZED (
    SELECT * FROM unnest($4::bigint[], $5::text[], $6::integer[], $7::jsonb[], $8::bigint[], $9::text[],
                         $10::timestamptz[], $11::timestamptz[], $12::uuid[], $13::smallint[], $14::text[],
                         $15::text[], $16::text[], $17::text[], $18::bytea[], $19::jsonb[])
         AS m(seq, fate, attempts, errors, retry_in, reason,
              created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers)
), held AS (
    INSERT INTO @{_held} AS h (relay_group, seq, state, next_at, attempts, errors, reason, epoch,
                          created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers)
    SELECT $1, seq,
           CASE WHEN fate = 'park' THEN 'parked' WHEN fate = 'wait' AND key IS NOT NULL THEN 'wait' ELSE 'retry' END,
           CASE WHEN fate = 'retry' OR (fate = 'wait' AND key IS NULL)
                THEN clock_timestamp() + retry_in::float8 * interval '1 microsecond' END,
           attempts, errors, reason, $2, created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers
    FROM m WHERE fate IN ('retry', 'wait', 'park')
    ON CONFLICT (relay_group, seq) DO UPDATE SET id = NULL WHERE h.id <> EXCLUDED.id
), dead AS (
    INSERT INTO @{_dead} AS d (relay_group, seq, errors, reason, epoch,
                          created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers)
    SELECT $1, seq, errors, reason, $2, created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers
    FROM m WHERE fate = 'dead'
    ON CONFLICT (relay_group, seq) DO UPDATE SET id = NULL WHERE d.id <> EXCLUDED.id
)
INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, key, details)
SELECT fate, $3, reason, $1, seq, coalesce(id_text, id::text), topic, key, pg_catalog.jsonb_build_object('epoch', $2::bigint, 'errors', errors)
FROM m WHERE fate IN ('park', 'dead', 'skip')
ORDER BY seq
