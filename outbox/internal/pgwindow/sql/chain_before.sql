-- Whether the first row at number $1 or later was written before $2: one step of a bisection.
-- NULL: there is no such row.
SELECT (SELECT o.created_at < $2::timestamptz FROM @{} o WHERE o.seq >= $1::bigint ORDER BY o.seq LIMIT 1)
WHERE @{primary}
