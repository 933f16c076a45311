-- Once a connection: the tables of which row level security would show this role a part
-- only. A range of ids is asked for by its own name, hence pg_inherits. $1 is set for an
-- operator, who reads the audit, too.
SELECT coalesce(string_agg(t.oid::regclass::text, ', ' ORDER BY t.oid), '')
FROM (SELECT inhrelid::oid AS oid FROM pg_inherits WHERE inhparent = to_regclass(@{text:})
      UNION
      SELECT to_regclass(x.name)::oid
      FROM (VALUES (@{text:}), (@{text:_consumers}), (@{text:_attempts}), (@{text:_parked}), (@{text:_notes}),
                   (@{text:_sources}), (@{text:_watermarks}), (@{text:_ranges}), (@{text:_retention})) x(name)
      UNION
      SELECT to_regclass(@{text:_audit})::oid WHERE $1::boolean) t
WHERE row_security_active(t.oid)
