-- Takes the locks of the keys, then inserts: while it waits for its last lock,
-- neither a number nor an xid is drawn, so that within a key seq order is
-- commit order (rule R3a). $1 holds the locks, sorted, each once; the lock equal
-- to $2 is taken shared, all others exclusive. The subquery depends on no row, so
-- it runs once and before the first: locks taken row by row in FROM would
-- deadlock.
-- $3 is NULL, or the instance that this outbox must be (checked where the
-- connection itself cannot be asked): of another one, nothing is inserted. It is
-- what instance.sql returns. The LIMIT is for the planner: a table of one row is never analysed, and by its
-- default size the server would plan this anew on every call.
-- The arrays are unnested side by side in the SELECT list, row by row; in FROM
-- each of them would first be written into a store of its own. Of equal length,
-- or NULL where a column has no values.
-- See design 3.1.
INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
SELECT pg_catalog.unnest($4::smallint[]), pg_catalog.unnest($5::uuid[]), pg_catalog.unnest($6::text[]), pg_catalog.unnest($7::text[]), pg_catalog.unnest($8::text[]),
       pg_catalog.unnest($9::text[]), pg_catalog.unnest($10::bytea[]), pg_catalog.unnest($11::jsonb[]), pg_catalog.unnest($12::timestamptz[])
WHERE (SELECT pg_catalog.count(CASE WHEN h = $2 THEN pg_advisory_xact_lock_shared(h) ELSE pg_advisory_xact_lock(h) END)
       FROM pg_catalog.unnest($1::bigint[]) AS h) IS NOT NULL
  AND ($3::text IS NULL OR $3::text = (SELECT pg_catalog.concat_ws('/', instance,
           (SELECT oid FROM pg_database WHERE datname = current_database()),
           (SELECT system_identifier FROM pg_control_system())) FROM @{_meta} LIMIT 1))
