-- The newest number of the log, its sequence, whether the caller may see where that is, and
-- where it is; 0 if nothing was drawn. Without the right to see it, servers from 17 on
-- say NULL, and older ones fail. $1 is the qualified name of the log, {log} is it, too.
SELECT coalesce((SELECT max(seq) FROM {log}), 0), s.name,
       coalesce(has_sequence_privilege(s.name, 'SELECT, USAGE'), false),
       CASE WHEN has_sequence_privilege(s.name, 'SELECT, USAGE') THEN coalesce(pg_sequence_last_value(s.name::regclass), 0) ELSE 0 END
FROM (SELECT pg_get_serial_sequence($1, 'seq') AS name) s
