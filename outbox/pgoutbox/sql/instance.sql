-- The unique identity of this outbox. A database that was cloned from a template, or restored
-- from a dump, has the row of the original: so the identity includes the database and the
-- cluster. enqueue.sql compares the same. See design 3.3.
SELECT pg_catalog.concat_ws('/', instance,
           (SELECT oid FROM pg_database WHERE datname = current_database()),
           (SELECT system_identifier FROM pg_control_system()))
FROM @{_meta}
WHERE @{primary}
