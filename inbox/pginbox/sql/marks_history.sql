-- part of other statements
(SELECT system_identifier::text FROM pg_control_system())
  || ':' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
  || ':' || (SELECT oid::text FROM pg_database WHERE datname = current_database())
  || ':' || @{text:_marks}::regclass::oid::text
