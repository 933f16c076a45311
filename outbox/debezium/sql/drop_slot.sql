SELECT pg_catalog.pg_drop_replication_slot($1) WHERE @{primary}
