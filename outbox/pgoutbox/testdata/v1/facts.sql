-- What must hold before a relay reads. The system identifier tells clusters
-- apart; xids and snapshots of one mean nothing in another.
SELECT pg_is_in_recovery(),
       (SELECT system_identifier FROM pg_control_system()),
       s.oid, seq.seqcache, current_setting('synchronous_commit'),
       has_sequence_privilege(s.oid, 'USAGE') OR has_sequence_privilege(s.oid, 'SELECT')
FROM pg_class s JOIN pg_sequence seq ON seq.seqrelid = s.oid
WHERE s.oid = pg_get_serial_sequence($1, 'seq')::regclass
