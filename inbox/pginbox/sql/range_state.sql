-- Once a connection, and after a claim that was refused.
SELECT mode, cutover, floor, legacy, width, lowered, (extract(epoch FROM clock_timestamp()) * 1000.0)::bigint FROM @{_retention}
WHERE @{primary}
