-- Replication slots that keep the server's log or dead rows for a reader that is gone, or that
-- is connected and has not confirmed anything for $1 transactions.
SELECT slot_name, active, coalesce(wal_status, ''), current_setting('max_slot_wal_keep_size') = '-1',
       coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint,
       coalesce(greatest(age(xmin), age(catalog_xmin)), 0)::bigint
FROM pg_replication_slots
WHERE NOT active OR wal_status IN ('extended', 'unreserved', 'lost') OR greatest(age(xmin), age(catalog_xmin)) > $1::bigint
ORDER BY slot_name
