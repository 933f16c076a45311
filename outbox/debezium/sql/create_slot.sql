-- It waits for all transactions of the cluster that write and are open.
SELECT lsn::text FROM pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')
WHERE @{primary}
