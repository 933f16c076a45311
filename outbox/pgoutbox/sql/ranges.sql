-- The ranges of the log.
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), pg_total_relation_size(c.oid), pg_relation_size(c.oid)
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = @{text:}::regclass AND @{primary}
