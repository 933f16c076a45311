-- Takes the locks of the keys, then inserts: while it waits for its last lock,
-- neither a number nor an xid is drawn, so that within a key seq order is
-- commit order (rule R3a). $1 holds the locks, sorted, each once; the lock equal
-- to $2 is taken shared, all others exclusive. The CTE is materialised and
-- forced by the WHERE: locks taken row by row in FROM would deadlock.
-- $3 is NULL, or the instance that this outbox must be (checked where the
-- connection itself cannot be asked): of another one, nothing is inserted. It is
-- what instance.sql returns. The LIMIT is for the planner: a table of one row is never analysed, and by its
-- default size the server would plan this anew on every call.
WITH l AS MATERIALIZED (
    SELECT count(CASE WHEN h = $2 THEN pg_advisory_xact_lock_shared(h) ELSE pg_advisory_xact_lock(h) END) AS n
    FROM unnest($1::bigint[]) AS h
)
INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
SELECT m.*
FROM unnest($4::smallint[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::bytea[], $11::jsonb[], $12::timestamptz[])
     AS m(shard, id, id_text, topic, key, type, payload, headers, occurred_at)
WHERE (SELECT n FROM l) IS NOT NULL
  AND ($3::text IS NULL OR $3::text = (SELECT concat_ws('/', instance,
           (SELECT oid FROM pg_database WHERE datname = current_database()),
           (SELECT system_identifier FROM pg_control_system())) FROM @{_meta} LIMIT 1))
