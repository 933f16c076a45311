-- $1 age in microseconds, $2 limit.
DELETE FROM @{_attempts} a
USING (SELECT consumer, id FROM @{_attempts}
       WHERE last_at < statement_timestamp() - $1::bigint::float8 * interval '1 microsecond'
       LIMIT $2::int FOR UPDATE SKIP LOCKED) d
WHERE a.consumer = d.consumer AND a.id = d.id
