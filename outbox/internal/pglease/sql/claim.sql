-- Takes the lease if it is free, has run out, was granted by a clock that has moved back since,
-- or is held by an owner named $4 with a number up to $6 (earlier incarnations of the same
-- reader, known to have ended; NULL: none). SKIP LOCKED: a rival that is claiming right now wins
-- without a wait.
UPDATE @{_leases}
SET owner = $3, epoch = epoch + 1,
    lease_from = clock_timestamp() - $5::bigint::float8 * interval '1 microsecond',
    lease_until = clock_timestamp() + $5::bigint::float8 * interval '1 microsecond'
WHERE (relay_group, slot) = (
    SELECT relay_group, slot FROM @{_leases}
    WHERE relay_group = $1 AND slot = $2
      AND (owner IS NULL OR (starts_with(owner, $4) AND substr(owner, length($4) + 1)::bigint <= $6) OR clock_timestamp() NOT BETWEEN lease_from AND lease_until)
    FOR UPDATE SKIP LOCKED)
RETURNING epoch
