-- Whether the consumer has an inbox of ids.
SELECT EXISTS (SELECT FROM @{} WHERE consumer = $1::smallint)
