-- What must be unchanged for a commit that was seen once to be still there: the cluster, its
-- timeline, the life of its server, since a crash may lose what was not flushed, the database
-- and the table. The timeline is that of the log's current file: pg_control_checkpoint() tells
-- of a new one too late. The files of the tables are others after TRUNCATE. The comment is for
-- an operator who has deleted rows, which leaves all else as it is. On a standby it is an
-- error.
SELECT (SELECT system_identifier::text FROM pg_control_system())
  || ':' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
  || ':' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000.0)::bigint::text
  || ':' || (SELECT oid::text FROM pg_database WHERE datname = current_database())
  || ':' || $1::regclass::oid::text
  || ':' || (SELECT hashtextextended(string_agg(t.id::text || ' ' || pg_relation_filenode(t.id)::text, ' ' ORDER BY t.id)
               || coalesce(obj_description($1::regclass, 'pg_class'), ''), 0)::text
             FROM (SELECT $1::regclass::oid AS id
                   UNION ALL SELECT @{text:_consumers}::regclass::oid
                   UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = @{text:_ranges}::regclass) t)
WHERE @{primary}
