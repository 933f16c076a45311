-- The newest number of the log, its sequence, whether the caller may read the sequence's value, that value (0 if nothing
-- was drawn), and whether a subscription writes to the log. Without the right to read it, servers from 17 on return NULL,
-- and older ones fail. $1 and {log} are the qualified name of the log.
SELECT coalesce((SELECT max(seq) FROM {log}), 0), s.name,
       coalesce(has_sequence_privilege(s.name, 'SELECT, USAGE'), false),
       CASE WHEN has_sequence_privilege(s.name, 'SELECT, USAGE') THEN coalesce(pg_sequence_last_value(s.name::regclass), 0) ELSE 0 END,
       EXISTS (SELECT FROM pg_subscription_rel r JOIN pg_partition_tree($1::text::regclass) p ON p.relid = r.srrelid)
FROM (SELECT pg_get_serial_sequence($1, 'seq') AS name) s
