-- Registers relay $2 of group $1 as alive for another $4 microseconds, wanting $3 slots, and
-- returns the number of slots and of live relays. Nothing is written while all want one slot and
-- this relay, or no relay, has it: a standby is registered.
--
-- The number of slots is changed once all live relays have wanted the same other number for at
-- least $4, in which each of them registers: while a new release is rolled out, relays of the
-- old one still want the old number. One change at a time.
WITH g AS (
    SELECT slots, next_slots FROM @{_groups} WHERE relay_group = $1
), others AS (
    SELECT count(*) AS n, coalesce(bool_and(slots = $3::smallint), true) AS agree
    FROM @{_members}
    WHERE relay_group = $1 AND member <> $2 AND clock_timestamp() BETWEEN seen_from AND seen_until
), me AS (
    INSERT INTO @{_members} AS m (relay_group, member, slots, seen_from, seen_until)
    SELECT $1, $2, $3::smallint, clock_timestamp() - $4::bigint::float8 * interval '1 microsecond',
           clock_timestamp() + $4::bigint::float8 * interval '1 microsecond'
    FROM others LEFT JOIN g ON true
    WHERE $3::smallint > 1 OR coalesce(g.slots, 1) > 1 OR g.next_slots IS NOT NULL OR NOT others.agree
       OR EXISTS (SELECT FROM @{_leases} l WHERE l.relay_group = $1 AND clock_timestamp() BETWEEN l.lease_from AND l.lease_until
                  AND l.owner IS NOT NULL AND regexp_replace(l.owner, '/[0-9]+$', '') <> $2)
    ON CONFLICT (relay_group, member) DO UPDATE
    SET seen_from = EXCLUDED.seen_from, seen_until = EXCLUDED.seen_until,
        slots = EXCLUDED.slots,
        since = CASE WHEN m.slots = EXCLUDED.slots AND m.since <= clock_timestamp()
                          AND clock_timestamp() BETWEEN m.seen_from AND m.seen_until THEN m.since ELSE clock_timestamp() END
    RETURNING since
), change AS (
    UPDATE @{_groups} u
    SET next_slots = $3::smallint
    FROM others, me
    WHERE u.relay_group = $1 AND u.slots <> $3::smallint AND u.next_slots IS NULL
      AND others.agree AND me.since <= clock_timestamp() - $4::bigint::float8 * interval '1 microsecond'
), gone AS (
    DELETE FROM @{_members}
    WHERE (relay_group, member) IN (
        SELECT relay_group, member FROM @{_members}
        WHERE relay_group = $1 AND member <> $2 AND NOT clock_timestamp() BETWEEN seen_from - interval '1 hour' AND seen_until + interval '1 hour'
        FOR UPDATE SKIP LOCKED)
)
SELECT coalesce(g.slots, $3::smallint), others.n + 1 FROM others LEFT JOIN g ON true
