-- All of Stats in one statement, whose work is bounded: ten thousand rows each of what is parked
-- and of what is being tried are looked at, and a thousand of those that have failed, which
-- costs two probes each. Beyond that, the counts are extrapolated to all rows, whose number is
-- in the tables' statistics. The rows that are looked at are the first ones in the table, which
-- are mostly the oldest.
-- shows
WITH parked AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE state = 'parked') AS parked, count(*) FILTER (WHERE state = 'redrive') AS redriving,
    count(*) FILTER (WHERE state = 'wait') AS waiting, min(parked_at) FILTER (WHERE state = 'parked') AS oldest
  FROM (SELECT state, parked_at FROM @{_parked} LIMIT 10000) p
), tried AS MATERIALIZED (
  SELECT consumer, id, errors IS NOT NULL OR attempts > 1 AS failed FROM @{_attempts} LIMIT 10000
), failed AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE
      NOT EXISTS (SELECT FROM @{} i WHERE i.consumer = f.consumer AND i.id = f.id)
      AND NOT EXISTS (SELECT FROM @{_ranges} i WHERE i.consumer = f.consumer AND i.id = f.id)) AS failing
  FROM (SELECT consumer, id FROM tried WHERE failed LIMIT 1000) f
), whole AS MATERIALIZED (
  SELECT CASE WHEN p.n < 10000 THEN 1 ELSE greatest(1, (SELECT reltuples FROM pg_class WHERE oid = @{text:_parked}::regclass) / 10000) END AS parked,
    CASE WHEN t.n < 10000 THEN 1 ELSE greatest(1, (SELECT reltuples FROM pg_class WHERE oid = @{text:_attempts}::regclass) / 10000) END
      * CASE WHEN f.n < 1000 THEN 1 ELSE t.failed::float8 / f.n END AS failing,
    p.n >= 10000 OR t.n >= 10000 OR f.n >= 1000 AND t.failed > f.n AS estimated
  FROM parked p, failed f, (SELECT count(*) AS n, count(*) FILTER (WHERE failed) AS failed FROM tried) t
)
SELECT clock_timestamp(), (SELECT count(*) FROM @{_consumers}),
  (p.parked * w.parked)::bigint, (p.redriving * w.parked)::bigint, (p.waiting * w.parked)::bigint, p.oldest,
  (f.failing * w.failing)::bigint, w.estimated,
  (SELECT coalesce(sum(pg_total_relation_size(o.oid)), 0)::bigint
   FROM (SELECT inhrelid::oid AS oid FROM pg_inherits WHERE inhparent = to_regclass(@{text:_ranges})
         UNION
         SELECT to_regclass(x.name)::oid
         FROM (VALUES (@{text:}), (@{text:_consumers}), (@{text:_attempts}), (@{text:_parked}), (@{text:_notes}),
                      (@{text:_audit}), (@{text:_sources}), (@{text:_watermarks}), (@{text:_retention})) x(name)) o)
FROM parked p, failed f, whole w
