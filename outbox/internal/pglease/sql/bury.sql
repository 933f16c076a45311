-- Releases the lease of an owner whose session is gone, unless it has changed hands since.
UPDATE @{_leases}
SET owner = NULL, lease_until = clock_timestamp()
WHERE (relay_group, slot) = (
    SELECT relay_group, slot FROM @{_leases}
    WHERE relay_group = $1 AND slot = $2 AND owner = $3 AND epoch = $4
    FOR UPDATE SKIP LOCKED)
