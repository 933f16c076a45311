-- About the first number that was drawn at $1 or later, above $2 and at most $3: numbers and
-- times ascend together except for concurrent transactions, so it is found by bisection, with one
-- probe of the primary key per step.
-- shows
WITH RECURSIVE halved(low, high) AS (
    SELECT $2::bigint, $3::bigint
    UNION ALL
    SELECT CASE WHEN p.created_at < $1::timestamptz THEN p.seq ELSE h.low END,
           CASE WHEN p.created_at < $1::timestamptz THEN h.high ELSE h.low + (h.high - h.low) / 2 END
    FROM halved h
    LEFT JOIN LATERAL (SELECT o.seq, o.created_at FROM @{} o
                       WHERE o.seq > h.low + (h.high - h.low) / 2 AND o.seq <= h.high
                       ORDER BY o.seq LIMIT 1) p ON true
    WHERE h.high - h.low > 1
)
SELECT min(high) FROM halved
