-- What is stored of group $1: whether it is listed, its slots, the change of them
-- that is under way (0: none), its topics, the log that its position belongs to
-- (0: not noted), whether it has a position, and the name that it has now, empty if it is this one.
SELECT g.relay_group IS NOT NULL, coalesce(g.slots, 1), coalesce(g.next_slots, 0), g.topics, coalesce(g.incarnation, 0),
       EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = x.relay_group),
       coalesce((SELECT min(n.relay_group) FROM @{_groups} n WHERE x.relay_group = ANY (n.former)), '')
FROM (SELECT $1::text AS relay_group) x
LEFT JOIN @{_groups} g ON g.relay_group = x.relay_group
WHERE @{primary}
