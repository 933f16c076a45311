-- The size of each range with its indexes, and the planner's estimate of its rows.
-- shows
SELECT c.relname, coalesce(pg_total_relation_size(c.oid), 0), c.reltuples::bigint
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = @{text:_ranges}::regclass
