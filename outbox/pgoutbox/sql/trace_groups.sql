-- The state of messages of the log in each group. $1 their numbers.
-- shows
SELECT o.seq, s.relay_group,
       CASE WHEN s.topics IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.unnest(s.topics) AS t(pattern)
                WHERE o.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'))
            THEN 'filtered'
            WHEN pg_visible_in_snapshot(o.xid, s.prev) OR pg_visible_in_snapshot(o.xid, s.target) AND o.seq <= s.last
            THEN CASE WHEN NOT g.from_oldest AND g.created_at > o.created_at THEN 'unknown' ELSE 'sent' END
            ELSE 'pending' END
FROM @{} o
JOIN @{_standing} s ON o.shard % s.slots = s.slot
LEFT JOIN @{_groups} g ON g.relay_group = s.relay_group
WHERE o.seq = ANY ($1::bigint[]) AND NOT starts_with(s.relay_group, '_')
ORDER BY o.seq, s.relay_group
