-- Groups that are known, and those that have a lease only. Names that begin with _
-- are leases of other kinds of work.
-- shows
SELECT n.relay_group, coalesce(g.slots, 1), coalesce(g.next_slots, 0), g.topics, g.paused,
       coalesce((SELECT l.policies FROM @{_leases} l WHERE l.relay_group = n.relay_group AND l.slot = 0), ''), clock_timestamp(),
       (extract(epoch FROM g.max_lag) * 1000000.0)::bigint, g.created_at,
       (SELECT count(*) FROM @{_leases} l
        WHERE l.relay_group = n.relay_group AND l.owner IS NOT NULL AND clock_timestamp() BETWEEN l.lease_from AND l.lease_until),
       (SELECT count(*) FROM (
            SELECT m.member FROM @{_members} m WHERE m.relay_group = n.relay_group AND clock_timestamp() BETWEEN m.seen_from AND m.seen_until
            UNION
            SELECT regexp_replace(l.owner, '/[0-9]+$', '') FROM @{_leases} l
            WHERE l.relay_group = n.relay_group AND l.owner IS NOT NULL AND clock_timestamp() BETWEEN l.lease_from AND l.lease_until) r),
       g.timeline_before, g.timeline, (extract(epoch FROM clock_timestamp() - g.timeline_changed) * 1000000.0)::bigint
FROM (SELECT relay_group FROM @{_groups} UNION SELECT relay_group FROM @{_leases}) n
LEFT JOIN @{_groups} g USING (relay_group)
WHERE NOT starts_with(n.relay_group, '_')
ORDER BY n.relay_group
