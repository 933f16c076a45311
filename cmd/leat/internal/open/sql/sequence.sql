-- How the log is numbered. $1 is the qualified name of the log.
SELECT s.seqcache, s.seqcycle, s.seqrelid::regclass::text
FROM pg_sequence s
WHERE s.seqrelid = pg_get_serial_sequence($1, 'seq')::regclass
