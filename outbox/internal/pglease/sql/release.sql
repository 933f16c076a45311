UPDATE @{_leases}
SET owner = NULL, lease_until = clock_timestamp()
WHERE relay_group = $1 AND slot = $2 AND owner = $3 AND epoch = $4
