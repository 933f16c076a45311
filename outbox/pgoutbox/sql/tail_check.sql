-- Why a tail cannot be used, NULL if it can. With synchronous standbys a commit comes over the
-- replication stream before it returns, and before anybody can see it. A filter
-- of rows or a list of columns would hide rows or fields; version 14 has neither, so they
-- are looked for by name in the row's JSON.
-- $1 publication, $2 table.
SELECT CASE
    WHEN pg_is_in_recovery() THEN 'the server is a standby'
    WHEN current_setting('wal_level') <> 'logical'
        THEN 'wal_level is ' || current_setting('wal_level') || ', want logical'
    WHEN current_setting('synchronous_standby_names') <> ''
        THEN 'synchronous_standby_names is set: rows would come before their commit is visible'
    WHEN p.oid IS NULL THEN 'there is no publication of this name'
    WHEN NOT p.pubinsert THEN 'the publication does not publish inserts'
    WHEN NOT p.pubviaroot THEN 'the publication is without publish_via_partition_root'
    WHEN NOT EXISTS (SELECT FROM pg_publication_tables t
                     JOIN pg_namespace n ON n.nspname = t.schemaname
                     JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
                     WHERE t.pubname = p.pubname AND c.oid = $2::text::regclass)
        THEN 'the publication does not publish the table'
    WHEN EXISTS (SELECT FROM pg_publication_rel r
                 WHERE r.prpubid = p.oid AND r.prrelid = $2::text::regclass
                   AND (pg_catalog.to_jsonb(r) ->> 'prqual' IS NOT NULL OR pg_catalog.to_jsonb(r) ->> 'prattrs' IS NOT NULL))
        THEN 'the publication filters rows or columns of the table'
    END
FROM (SELECT) one LEFT JOIN pg_publication p ON p.pubname = $1
