-- Microseconds until the next message is due.
SELECT greatest(0, extract(epoch FROM not_before - clock_timestamp()) * 1000000.0)::bigint
FROM @{_delayed}
WHERE @{primary}
ORDER BY not_before, no
LIMIT 1
