-- One message, as most transactions have: without arrays and aggregates to set
-- up, half of what enqueue.sql costs beyond a bare INSERT. The locks come first as
-- there, in a condition that is decided before the row's defaults are computed
-- (rule R3a). $1 is empty, or the lock that is taken shared and then the exclusive
-- one.
INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
SELECT $2::smallint, $3::uuid, $4::text, $5::text, $6::text, $7::text, $8::bytea, $9::jsonb, $10::timestamptz
WHERE CASE WHEN ($1::bigint[])[1] IS NULL THEN true
           WHEN pg_advisory_xact_lock_shared(($1::bigint[])[1]) IS NULL THEN false
           ELSE pg_advisory_xact_lock(($1::bigint[])[2]) IS NOT NULL END
