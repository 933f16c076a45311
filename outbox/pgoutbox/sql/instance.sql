-- What tells this outbox from every other. A database that was cloned from a
-- template, or restored from a dump, has the row of the original: hence the
-- database and the cluster beside it. enqueue.sql compares the same.
-- See design 3.3.
SELECT pg_catalog.concat_ws('/', instance,
           (SELECT oid FROM pg_database WHERE datname = current_database()),
           (SELECT system_identifier FROM pg_control_system()))
FROM @{_meta}
WHERE @{primary}
