-- $1 consumer, $2 age in microseconds, $3 limit.
DELETE FROM @{_attempts} a
USING (SELECT consumer, id FROM @{_attempts}
       WHERE consumer = $1::smallint AND last_at < statement_timestamp() - $2::bigint::float8 * interval '1 microsecond'
       LIMIT $3::int FOR UPDATE SKIP LOCKED) d
WHERE a.consumer = d.consumer AND a.id = d.id
