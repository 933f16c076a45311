-- Counts the attempt, so that one that ends with its process counts, and keeps the
-- message from the others until its transaction has locked it.
-- $1 consumer, $2 microseconds.
UPDATE @{_parked}
SET tries = tries + 1, attempts = attempts + 1, last_at = clock_timestamp(),
    next_at = clock_timestamp() + $2::bigint::float8 * interval '1 microsecond'
WHERE no = (SELECT no FROM @{_parked}
            WHERE consumer = $1::smallint AND state = 'redrive' AND next_at <= clock_timestamp()
            ORDER BY next_at, no LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING no, tries, message_id, topic, key, uuid, payload, metadata::text, metadata_raw::text
