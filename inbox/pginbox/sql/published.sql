-- Whether a publication copies the ranges to another database, which needs the same ones.
SELECT EXISTS (SELECT FROM pg_publication_tables t
               JOIN pg_namespace n ON n.nspname = t.schemaname
               JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
               JOIN pg_partition_tree(@{text:_ranges}::regclass) r ON r.relid = c.oid)
WHERE @{primary}
