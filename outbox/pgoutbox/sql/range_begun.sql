-- Whether the first message of a range is older than $1 microseconds.
SELECT coalesce((SELECT created_at < statement_timestamp() - $1::bigint::float8 * interval '1 microsecond'
                 FROM {range} ORDER BY seq LIMIT 1), false)
WHERE @{primary}
