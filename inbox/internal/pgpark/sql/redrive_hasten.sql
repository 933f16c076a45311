-- What is redriven, but not due within $2 µs: its time was set by a clock that was ahead.
UPDATE @{_parked} SET next_at = clock_timestamp()
WHERE consumer = $1::smallint AND state = 'redrive' AND next_at > clock_timestamp() + $2::bigint::float8 * interval '1 microsecond'
