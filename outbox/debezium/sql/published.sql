-- Why the publication $1 would not include all rows that are inserted into the table $2, NULL if
-- it would, and no row if it does not exist. A filter of rows or a list of columns would hide
-- rows or fields; version 14 has neither, so they are looked for by name in the row's JSON. Rows
-- of a partitioned table have the names of its partitions unless the root's is requested, and a
-- connector leaves them out.
SELECT CASE
    WHEN NOT p.pubinsert THEN 'does not publish inserts'
    WHEN NOT p.pubviaroot AND (SELECT c.relkind = 'p' FROM pg_class c WHERE c.oid = $2::text::regclass)
        THEN 'is without publish_via_partition_root'
    WHEN NOT EXISTS (SELECT FROM pg_publication_tables t
                     JOIN pg_namespace n ON n.nspname = t.schemaname
                     JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
                     WHERE t.pubname = p.pubname AND c.oid = $2::text::regclass)
        THEN 'does not publish the table'
    WHEN EXISTS (SELECT FROM pg_publication_rel r
                 WHERE r.prpubid = p.oid AND r.prrelid = $2::text::regclass
                   AND (to_jsonb(r) ->> 'prqual' IS NOT NULL OR to_jsonb(r) ->> 'prattrs' IS NOT NULL))
        THEN 'filters rows or columns of the table'
    END
FROM pg_publication p WHERE p.pubname = $1 AND @{primary}
