-- $1 consumer, $2 age in microseconds, $3 limit.
DELETE FROM @{_notes} n
USING (SELECT consumer, id FROM @{_notes}
       WHERE consumer = $1::smallint AND at < statement_timestamp() - $2::bigint::float8 * interval '1 microsecond'
       LIMIT $3::int FOR UPDATE SKIP LOCKED) d
WHERE n.consumer = d.consumer AND n.id = d.id
