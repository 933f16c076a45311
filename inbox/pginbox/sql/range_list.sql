-- The ranges, including those whose detach was cancelled.
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), i.inhdetachpending
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = @{text:_ranges}::regclass AND @{primary}
