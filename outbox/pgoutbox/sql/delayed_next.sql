-- Microseconds until the next message is due.
SELECT greatest(0, extract(epoch FROM not_before - clock_timestamp()) * 1000000)::bigint
FROM @{_delayed}
ORDER BY not_before, no
LIMIT 1
