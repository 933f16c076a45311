-- As attempt_batch.sql, where some of the ids are in ranges. $6 and $7 are the first and
-- the last of those: planned for these values, the server looks into the ranges between
-- them only, and locks no others.
WITH s AS MATERIALIZED (
  SELECT set_config('synchronous_commit', coalesce($5::text, current_setting('synchronous_commit')), true)),
m AS MATERIALIZED (
  SELECT id, n,
    EXISTS (SELECT FROM @{_parked} WHERE consumer = $1::smallint AND key_hash = m.key_hash AND key = m.key) AS parked,
    EXISTS (SELECT FROM @{} i WHERE i.consumer = $1::smallint AND i.id = m.id)
    OR EXISTS (SELECT FROM @{_ranges} i WHERE i.consumer = $1::smallint AND i.id = m.id
      AND i.id BETWEEN $6::uuid AND $7::uuid) AS seen
  FROM s, unnest($2::uuid[], $3::bigint[], $4::bytea[]) WITH ORDINALITY AS m(id, key_hash, key, n)),
i AS (
  INSERT INTO @{_attempts} (consumer, id, attempts)
  SELECT $1::smallint, id, 0 FROM m WHERE NOT parked AND NOT seen ORDER BY id
  ON CONFLICT DO NOTHING RETURNING id)
SELECT coalesce(pg_catalog.array_agg(n) FILTER (WHERE parked OR NOT seen AND id NOT IN (SELECT id FROM i)), '{}') FROM m
