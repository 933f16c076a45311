-- Makes redriven messages due whose time is more than $2 µs away: it was set by a clock that was ahead.
UPDATE @{_parked} SET next_at = clock_timestamp()
WHERE consumer = $1::smallint AND state = 'redrive' AND next_at > clock_timestamp() + $2::bigint::float8 * interval '1 microsecond'
