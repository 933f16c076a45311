-- The note of group $1 about policies, and the clock by which leases are measured.
SELECT policies, clock_timestamp() FROM @{_leases} WHERE relay_group = $1 AND slot = 0 AND @{primary}
