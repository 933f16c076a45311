-- Whether the consumer has an inbox of positions.
SELECT EXISTS (SELECT FROM @{_sources} WHERE consumer = $1::smallint)
WHERE @{primary}
