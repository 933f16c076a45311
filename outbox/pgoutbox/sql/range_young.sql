-- Whether a range holds a message younger than $1 microseconds, or one above the number $2. The
-- last message usually decides; the BRIN index is used for the others.
SELECT coalesce((SELECT created_at > at OR seq > $2::bigint FROM {range} ORDER BY seq DESC LIMIT 1), false)
    OR EXISTS (SELECT FROM {range} WHERE created_at > at)
FROM (SELECT statement_timestamp() - $1::bigint::float8 * interval '1 microsecond' AS at) AS cutoff
WHERE @{primary}
