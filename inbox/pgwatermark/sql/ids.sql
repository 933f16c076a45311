-- Whether the consumer has an inbox of ids, in the plain table; and whether there can
-- be some in ranges, which this schema may not have yet.
SELECT EXISTS (SELECT FROM @{} WHERE consumer = $1::smallint), to_regclass(@{text:_ranges}) IS NOT NULL
WHERE @{primary}
