SELECT clock_timestamp(), (SELECT count(*) FROM @{_consumers}), p.parked, p.redriving, p.waiting, p.oldest,
  (SELECT count(*) FROM @{_attempts} t
   WHERE (t.errors IS NOT NULL OR t.attempts > 1)
     AND NOT EXISTS (SELECT FROM @{} i WHERE i.consumer = t.consumer AND i.id = t.id)
     AND NOT EXISTS (SELECT FROM @{_ranges} i WHERE i.consumer = t.consumer AND i.id = t.id)),
  (SELECT coalesce(sum(pg_total_relation_size(o.oid)), 0)::bigint
   FROM (SELECT inhrelid::oid AS oid FROM pg_inherits WHERE inhparent = to_regclass(@{text:_ranges})
         UNION
         SELECT to_regclass(x.name)::oid
         FROM (VALUES (@{text:}), (@{text:_consumers}), (@{text:_attempts}), (@{text:_parked}), (@{text:_notes}),
                      (@{text:_audit}), (@{text:_sources}), (@{text:_watermarks}), (@{text:_retention})) x(name)) o)
FROM (SELECT count(*) FILTER (WHERE state = 'parked') AS parked, count(*) FILTER (WHERE state = 'redrive') AS redriving,
        count(*) FILTER (WHERE state = 'wait') AS waiting, min(parked_at) FILTER (WHERE state = 'parked') AS oldest
      FROM @{_parked}) p
