-- The newest window of the slot, the number of slots that its group has, and
-- the log that its position belongs to (0: not noted).
SELECT p.window_no, p.prev::text, p.target::text, p.floor, p.next_floor, p.source_floor, p.last, p.opened_by::text,
       p.system_identifier, p.slots, p.leads, coalesce(g.slots, 1), coalesce(g.incarnation, 0)
FROM (SELECT * FROM @{_positions}
      WHERE relay_group = $1 AND slot = $2
      ORDER BY window_no DESC
      LIMIT 1) p
LEFT JOIN @{_groups} g ON g.relay_group = p.relay_group
WHERE @{primary}
