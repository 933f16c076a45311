-- enqueue_one.sql for connections that cannot show which database they are in: $11 is the
-- instance of this outbox. In another one nothing is inserted. The LIMIT is for the planner, as
-- in enqueue.sql.
INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
SELECT $2::smallint, $3::uuid, $4::text, $5::text, $6::text, $7::text, $8::bytea, $9::jsonb, $10::timestamptz
WHERE CASE WHEN ($1::bigint[])[1] IS NULL THEN true
           WHEN pg_advisory_xact_lock_shared(($1::bigint[])[1]) IS NULL THEN false
           ELSE pg_advisory_xact_lock(($1::bigint[])[2]) IS NOT NULL END
  AND $11::text = (SELECT pg_catalog.concat_ws('/', instance,
           (SELECT oid FROM pg_database WHERE datname = current_database()),
           (SELECT system_identifier FROM pg_control_system())) FROM @{_meta} LIMIT 1)
