-- A logical replication slot of this database: whether it is in use, the position up to which its
-- connector has confirmed, whether the server still has what it needs, and its plugin.
SELECT active, confirmed_flush_lsn::text, coalesce(wal_status, '') = 'lost',
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), confirmed_flush_lsn)::bigint,
       confirmed_flush_lsn >= $2::pg_lsn, plugin::text
FROM pg_replication_slots
WHERE slot_name = $1 AND slot_type = 'logical' AND database = current_database()
  AND @{primary}
