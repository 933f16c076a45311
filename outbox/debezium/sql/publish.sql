-- Makes a publication as leat and the router need it, unless it exists: inserted rows, those of a
-- partitioned table under its own name. {…} are names. A publication must be older than its slot.
DO $leat$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = {name}) THEN
        CREATE PUBLICATION {publication} FOR TABLE {table} WITH (publish = 'insert', publish_via_partition_root = true);
    END IF;
END
$leat$
