-- Once a connection: the tables that row level security would show this role a part of
-- only. A range of ids is asked for by its own name, hence pg_inherits. $1 is set for an
-- operator, who reads the audit, too. Beside them the triggers and rules that could keep an
-- id from being inserted, in the table and its ranges: a row trigger (1) before (2) an
-- INSERT (4), and a rule for INSERT ('3').
WITH ranges AS MATERIALIZED (
  SELECT inhrelid::oid AS oid FROM pg_inherits WHERE inhparent = to_regclass(@{text:})
)
SELECT coalesce(string_agg(t.oid::regclass::text, ', ' ORDER BY t.oid), ''),
  (SELECT coalesce(string_agg(pg_catalog.format('%s on %s', x.name, x.oid::regclass), ', ' ORDER BY x.oid, x.name), '')
   FROM (SELECT to_regclass(@{text:})::oid AS oid UNION SELECT oid FROM ranges) r
   JOIN (SELECT tgrelid AS oid, tgname AS name FROM pg_trigger
         WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 7 = 7
         UNION
         SELECT ev_class, rulename FROM pg_rewrite WHERE ev_type = '3' AND ev_enabled <> 'D') x USING (oid))
FROM (SELECT oid FROM ranges
      UNION
      SELECT to_regclass(x.name)::oid
      FROM (VALUES (@{text:}), (@{text:_consumers}), (@{text:_attempts}), (@{text:_parked}), (@{text:_notes}),
                   (@{text:_sources}), (@{text:_watermarks}), (@{text:_ranges}), (@{text:_retention})) x(name)
      UNION
      SELECT to_regclass(@{text:_audit})::oid WHERE $1::boolean) t
WHERE row_security_active(t.oid) AND @{primary}
