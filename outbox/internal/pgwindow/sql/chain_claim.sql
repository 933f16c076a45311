-- Takes the lease of a slot of group $1 that is free, has run out, was granted by a clock that
-- has moved back since, or is held by an owner named $3 with a number up to $5 that is not among
-- $6 (earlier incarnations of the same reader, known to have ended; NULL: none). While the slots
-- are being changed, those that have reached the marker are not available. In random order, so
-- that replicas do not run into each other; SKIP LOCKED: a rival that is claiming right now wins
-- without a wait. Records the topics with which the position of the slot was reached, if that is
-- not recorded yet.
UPDATE @{_leases} x
SET topics = coalesce(topics, (SELECT g.topics FROM @{_groups} g WHERE g.relay_group = x.relay_group), '{*}'),
    owner = $2, epoch = epoch + 1,
    lease_from = clock_timestamp() - $4::bigint::float8 * interval '1 microsecond',
    lease_until = clock_timestamp() + $4::bigint::float8 * interval '1 microsecond'
WHERE (relay_group, slot) = (
    SELECT l.relay_group, l.slot
    FROM @{_leases} l JOIN @{_groups} g ON g.relay_group = l.relay_group
    WHERE l.relay_group = $1 AND l.slot < g.slots
      AND (l.owner IS NULL OR clock_timestamp() NOT BETWEEN l.lease_from AND l.lease_until
           OR CASE WHEN starts_with(l.owner, $3)
                   THEN substr(l.owner, length($3) + 1)::bigint <= $5
                        AND substr(l.owner, length($3) + 1)::bigint <> ALL ($6::bigint[]) END)
      AND (g.next_slots IS NULL OR g.next_slots IS DISTINCT FROM (
           SELECT p.slots FROM @{_positions} p
           WHERE p.relay_group = l.relay_group AND p.slot = l.slot
           ORDER BY p.window_no DESC
           LIMIT 1))
    ORDER BY random()
    LIMIT 1
    FOR UPDATE OF l SKIP LOCKED)
RETURNING slot, epoch, topics
