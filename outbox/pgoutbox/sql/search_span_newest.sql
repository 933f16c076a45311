-- The newest first: the last number that a search of at most $3 rows between $1 and $2, both included, looks
-- at; NULL if it reaches the end.
-- shows
SELECT (SELECT o.seq FROM @{} o WHERE o.seq >= $1::bigint AND o.seq <= $2::bigint ORDER BY o.seq DESC OFFSET $3::bigint - 1 LIMIT 1)
