-- What must hold before a relay reads; last, the tables that hide rows by row level security, and whether a subscription writes to the
-- forwarder's table. $1 is that table, $2 that of its position.
SELECT pg_is_in_recovery(),
       (SELECT system_identifier FROM pg_control_system()),
       current_setting('synchronous_commit'),
       to_regclass($1) IS NOT NULL,
       to_regclass($2) IS NOT NULL,
       EXISTS (SELECT FROM pg_attribute a
               WHERE a.attrelid = to_regclass($1) AND a.attname = 'transaction_id' AND a.atttypid = 'xid8'::regtype),
       EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
               WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND a.attname = 'transaction_id'),
       coalesce((SELECT max(s.seqcache) FROM pg_attribute a
                 JOIN pg_depend d ON d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
                 JOIN pg_sequence s ON s.seqrelid = d.objid
                 WHERE a.attrelid = to_regclass($1) AND a.attname = 'offset'), 1),
       (SELECT coalesce(string_agg(t.oid::text, ', '), '')
        FROM (SELECT to_regclass(x.name) AS oid
              FROM (VALUES ($1), ($2), (@{text:_leases}), (@{text:_positions}), (@{text:_held}), (@{text:_dead}), (@{text:_audit})) x(name)) t
        WHERE row_security_active(t.oid)),
       EXISTS (SELECT FROM pg_subscription_rel r WHERE r.srrelid = to_regclass($1))
