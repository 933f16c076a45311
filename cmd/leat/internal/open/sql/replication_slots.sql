-- Replication slots that keep the server's log or its rows for somebody who is away.
SELECT slot_name, active, coalesce(wal_status, ''), current_setting('max_slot_wal_keep_size') = '-1'
FROM pg_replication_slots
WHERE NOT active OR wal_status IN ('extended', 'unreserved', 'lost')
ORDER BY slot_name
