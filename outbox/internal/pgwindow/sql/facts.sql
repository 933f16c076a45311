-- What must hold before a relay reads. The system identifier tells clusters apart; xids and
-- snapshots of one mean nothing in another. The file of the sequence distinguishes the log from
-- what it was before a TRUNCATE … RESTART IDENTITY, and the database above it from a copy made
-- by CREATE DATABASE … TEMPLATE, which has the same files. Then the tables that row level
-- security would show this role a part of only: ranges of the log as well. Then the log and its
-- ranges that a subscription writes to. Last, the number that was given out last. See design
-- 2.9.
SELECT pg_is_in_recovery(),
       (SELECT system_identifier FROM pg_control_system()),
       s.oid, seq.seqcache, current_setting('synchronous_commit'),
       has_sequence_privilege(s.oid, 'USAGE') OR has_sequence_privilege(s.oid, 'SELECT'),
       coalesce(pg_relation_filenode(s.oid), 0)::bigint | (SELECT d.oid::bigint << 32 FROM pg_database d WHERE d.datname = current_database()),
       (SELECT coalesce(string_agg(t.oid::regclass::text, ', ' ORDER BY t.oid), '')
        FROM (SELECT p.relid AS oid FROM pg_partition_tree($1::text::regclass) p
              UNION
              SELECT to_regclass(x.name)
              FROM (VALUES (@{text:_meta}), (@{text:_leases}), (@{text:_positions}), (@{text:_groups}), (@{text:_members}),
                           (@{text:_held}), (@{text:_dead}), (@{text:_audit}), (@{text:_delayed})) x(name)) t
        WHERE row_security_active(t.oid)),
       (SELECT coalesce(string_agg(p.relid::regclass::text, ', ' ORDER BY p.relid), '')
        FROM pg_partition_tree($1::text::regclass) p
        WHERE EXISTS (SELECT FROM pg_subscription_rel r WHERE r.srrelid = p.relid)),
       CASE WHEN has_sequence_privilege(s.oid, 'USAGE, SELECT') THEN coalesce(pg_sequence_last_value(s.oid), 0) ELSE 0 END
FROM pg_class s JOIN pg_sequence seq ON seq.seqrelid = s.oid
WHERE s.oid = pg_get_serial_sequence($1::text, 'seq')::regclass
