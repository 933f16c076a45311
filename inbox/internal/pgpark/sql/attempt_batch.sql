-- Notes messages whose handler is about to run together: no attempt of any of them,
-- but a trace that stays if the process ends. Returns the places, from 1, of those
-- that are to be run alone: noted before, with attempts, or of a parked key.
-- In the order of ids, so that two of these do not deadlock over their rows.
-- $1 consumer, $2 ids, $3 hashes of the keys or NULL, $4 keys, $5 synchronous_commit
-- of this transaction or NULL.
WITH s AS MATERIALIZED (
  SELECT set_config('synchronous_commit', coalesce($5::text, current_setting('synchronous_commit')), true)),
m AS MATERIALIZED (
  SELECT id, n,
    EXISTS (SELECT FROM @{_parked} WHERE consumer = $1::smallint AND key_hash = m.key_hash AND key = m.key) AS parked,
    EXISTS (SELECT FROM @{} i WHERE i.consumer = $1::smallint AND i.id = m.id) AS seen
  FROM s, unnest($2::uuid[], $3::bigint[], $4::bytea[]) WITH ORDINALITY AS m(id, key_hash, key, n)),
i AS (
  INSERT INTO @{_attempts} (consumer, id, attempts)
  SELECT $1::smallint, id, 0 FROM m WHERE NOT parked AND NOT seen ORDER BY id
  ON CONFLICT DO NOTHING RETURNING id)
SELECT coalesce(pg_catalog.array_agg(n) FILTER (WHERE parked OR NOT seen AND id NOT IN (SELECT id FROM i)), '{}') FROM m
