-- The nearest message at or below $1; where there is none, the first above it; NULL where
-- there is none at all. Each is one probe of a primary key.
SELECT coalesce(
    (SELECT o.seq FROM @{} o WHERE o.seq <= $1::bigint ORDER BY o.seq DESC LIMIT 1),
    (SELECT o.seq FROM @{} o WHERE o.seq > $1::bigint ORDER BY o.seq LIMIT 1))
WHERE @{primary}
