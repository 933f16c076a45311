-- A position is no use, either, once the log's sequence was set back: rows have numbers
-- that it has passed. The relay looks at all that is behind its window. Those who look at the
-- views, and maintenance, look at the hundred rows up to the highest number that the newest window knows of: if
-- the sequence has come back to it, these are new. If it has not, its position is ahead of the log.

-- Where each slot stands: its newest window, and what is wrong with it. A position
-- that is no use has settled nothing.
CREATE OR REPLACE VIEW @{_standing} AS
SELECT s.relay_group, s.slot, s.slots, s.next_slots, s.topics, w.problem, p.window_no, p.opened_at,
       CASE WHEN w.problem IS NULL THEN p.prev ELSE '3:3:' END AS prev,
       CASE WHEN w.problem IS NULL THEN p.target ELSE '3:3:' END AS target,
       CASE WHEN w.problem IS NULL THEN p.floor ELSE 0 END AS floor,
       CASE WHEN w.problem IS NULL THEN p.next_floor ELSE 0 END AS next_floor,
       CASE WHEN w.problem IS NULL THEN p.last ELSE 0 END AS last
FROM (SELECT g.relay_group, n.slot::smallint AS slot, g.slots, g.next_slots, g.topics, g.incarnation
      FROM @{_groups} g CROSS JOIN LATERAL generate_series(0, g.slots - 1) AS n(slot)
      UNION ALL
      SELECT DISTINCT q.relay_group, 0::smallint, 1::smallint, NULL::smallint, NULL::text[], NULL::bigint
      FROM @{_positions} q
      WHERE NOT EXISTS (SELECT FROM @{_groups} g WHERE g.relay_group = q.relay_group)) s
CROSS JOIN LATERAL (
      SELECT * FROM @{_positions} q
      WHERE q.relay_group = s.relay_group AND q.slot = s.slot
      ORDER BY q.window_no DESC
      LIMIT 1) p
CROSS JOIN LATERAL (
      SELECT coalesce(@{_problem}(p.system_identifier, s.incarnation, p.source_floor),
             CASE WHEN EXISTS (
                  SELECT FROM (SELECT o.xid, o.seq FROM @{} o WHERE o.seq <= p.source_floor ORDER BY o.seq DESC LIMIT 100) r
                  WHERE r.xid > p.opened_by OR r.seq <= p.next_floor AND r.xid >= pg_snapshot_xmax(p.target))
             THEN 'sequence of the log was set back' END) AS problem
      OFFSET 0) w;
