-- What must be the same for a commit that was seen once to be there still: the
-- cluster, its timeline, the life of its server, since a crash may lose what was
-- not flushed, the database and the table. The timeline is that of the log's
-- current file: pg_control_checkpoint() tells of a new one too late. On a standby
-- it is an error.
SELECT (SELECT system_identifier::text FROM pg_control_system())
  || ':' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
  || ':' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
  || ':' || (SELECT oid FROM pg_database WHERE datname = current_database())
  || ':' || $1::regclass::oid
