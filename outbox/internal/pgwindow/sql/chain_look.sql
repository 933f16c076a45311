-- The slots of group $1 as a claim would find them, for a standby; nothing is written. live:
-- another owner holds the slot. Owners named $2 with a number up to $3 that is not among $4 do
-- not count as others. come: the slots are being changed, and this one has reached the marker.
-- gone: the lease is marked and its session is gone (see look.sql of the leases). The lock that
-- shows it is tried after the lease was read, never in a condition.
WITH s AS MATERIALIZED (
    SELECT g.next_slots IS NOT NULL AS changing, l.owner,
           (SELECT count(*) FROM @{_members} m WHERE m.relay_group = g.relay_group AND clock_timestamp() BETWEEN m.seen_from AND m.seen_until) AS members,
           CASE WHEN clock_timestamp() BETWEEN l.lease_from AND l.lease_until
                THEN (extract(epoch FROM l.lease_until - clock_timestamp()) * 1000000.0)::bigint ELSE 0 END AS remaining,
           l.owner IS NOT NULL AND clock_timestamp() BETWEEN l.lease_from AND l.lease_until
           AND NOT (CASE WHEN starts_with(l.owner, $2)
                         THEN substr(l.owner, length($2) + 1)::bigint <= $3
                              AND substr(l.owner, length($2) + 1)::bigint <> ALL ($4::bigint[]) ELSE false END) AS live,
           g.next_slots IS NOT NULL AND g.next_slots IS NOT DISTINCT FROM (
               SELECT p.slots FROM @{_positions} p
               WHERE p.relay_group = g.relay_group AND p.slot = n.no
               ORDER BY p.window_no DESC
               LIMIT 1) AS come
    FROM @{_groups} g
    CROSS JOIN generate_series(0, g.slots - 1) AS n(no)
    LEFT JOIN @{_leases} l ON l.relay_group = g.relay_group AND l.slot = n.no
    WHERE g.relay_group = $1 AND @{primary}
)
SELECT changing, members, live, come, CASE WHEN live THEN owner ELSE '' END, CASE WHEN live THEN remaining ELSE 0 END,
       live AND owner ~ '/0[0-9]+$',
       CASE WHEN live AND owner ~ '/0[0-9]+$' THEN pg_try_advisory_xact_lock(hashtextextended(owner, 0::bigint)) ELSE false END
FROM s
