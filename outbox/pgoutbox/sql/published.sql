-- Whether a publication copies the log to another database, which needs the same ranges. One that
-- publishes inserts under the log's name is a stream of messages.
SELECT EXISTS (SELECT FROM pg_publication p
               JOIN pg_publication_tables t ON t.pubname = p.pubname
               JOIN pg_namespace n ON n.nspname = t.schemaname
               JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
               JOIN pg_partition_tree(@{text:}::regclass) r ON r.relid = c.oid
               WHERE p.pubupdate OR NOT p.pubviaroot)
WHERE @{primary}
