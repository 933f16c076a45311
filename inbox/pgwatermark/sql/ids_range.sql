-- Whether the consumer has an inbox of ids, in ranges.
SELECT EXISTS (SELECT FROM @{_ranges} WHERE consumer = $1::smallint)
WHERE @{primary}
