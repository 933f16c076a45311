-- enqueue.sql for messages with and without a not_before ($13, NULL for those without): those in
-- the future, by this server's clock, are stored outside the log. Both inserts read m, and so
-- come after the locks. One row per message is returned, since the count of an INSERT would be
-- that of one table only.
WITH l AS MATERIALIZED (
    SELECT pg_catalog.count(CASE WHEN h = $2 THEN pg_advisory_xact_lock_shared(h) ELSE pg_advisory_xact_lock(h) END) AS n
    FROM pg_catalog.unnest($1::bigint[]) AS h
), m AS MATERIALIZED (
    SELECT m.*
    FROM unnest($4::smallint[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[],
                $10::bytea[], $11::jsonb[], $12::timestamptz[], $13::timestamptz[])
         AS m(shard, id, id_text, topic, key, type, payload, headers, occurred_at, not_before)
    WHERE (SELECT n FROM l) IS NOT NULL
      AND ($3::text IS NULL OR $3::text = (SELECT pg_catalog.concat_ws('/', instance,
               (SELECT oid FROM pg_database WHERE datname = current_database()),
               (SELECT system_identifier FROM pg_control_system())) FROM @{_meta} LIMIT 1))
), i AS (
    INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
    SELECT shard, id, id_text, topic, key, type, payload, headers, occurred_at
    FROM m
    WHERE not_before IS NULL OR not_before <= statement_timestamp()
    RETURNING 1
), d AS (
    INSERT INTO @{_delayed} (not_before, shard, id, id_text, topic, key, type, payload, headers, occurred_at)
    SELECT not_before, shard, id, id_text, topic, key, type, payload, headers, occurred_at
    FROM m
    WHERE not_before > statement_timestamp()
    RETURNING 1
)
SELECT 1 FROM i UNION ALL SELECT 1 FROM d
