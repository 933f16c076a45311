-- Finishes window $3 of a slot and takes the next one of the chain that all slots
-- of the group share: one row, one xid.
--
-- ahead: another slot has opened windows already. Their newest is taken at once, since any
-- later snapshot of the chain will do; but a marker only by a slot that stands at the snapshot
-- that it repeats. Of the two newest, only the last can be a marker of a change that is under
-- way. Else a marker is set if the slots are to be changed: window $3 once more, with their new
-- number. Else a window is opened, as by open.sql: the target is this statement's snapshot, and
-- $4 the sequence's value from the probe before it.
--
-- Compare-and-set on the lease and on the window; and no slot goes past a marker before the
-- group has as many slots as it says. Where another slot has just set the same window, no row
-- comes back, and a second call finds it. Old rows go only where there is a new one: with
-- another slot far ahead, the newest of this slot is among them. Nothing is taken if the log's
-- sequence was set back, as in open.sql.
WITH own AS (
    SELECT p.*, g.next_slots
    FROM @{_positions} p
    JOIN @{_leases} l ON l.relay_group = p.relay_group AND l.slot = p.slot
    JOIN @{_groups} g ON g.relay_group = p.relay_group AND g.slots = p.slots
    WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no = $3 AND l.owner = $5 AND l.epoch = $6
), ahead AS (
    SELECT t.*
    FROM (SELECT * FROM @{_positions}
          WHERE relay_group = $1 AND leads AND window_no > $3
          ORDER BY window_no DESC
          LIMIT 2) t
    ORDER BY t.slots = (SELECT slots FROM own) DESC, t.window_no DESC
    LIMIT 1
), opened AS (
    INSERT INTO @{_positions}
        (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, opened_by,
         owner, epoch, system_identifier, leads, slots)
    SELECT own.relay_group, own.slot, coalesce(a.window_no, own.window_no + 1), own.target,
           CASE WHEN a.leads THEN a.target WHEN own.next_slots IS NOT NULL THEN own.target ELSE pg_current_snapshot() END,
           own.next_floor,
           CASE WHEN a.leads THEN a.next_floor WHEN own.next_slots IS NOT NULL THEN own.next_floor ELSE own.source_floor END,
           CASE WHEN a.leads THEN a.source_floor WHEN own.next_slots IS NOT NULL THEN own.source_floor ELSE $4::bigint END,
           0,
           CASE WHEN a.leads THEN a.opened_by WHEN own.next_slots IS NOT NULL THEN own.opened_by ELSE pg_current_xact_id() END,
           $5, $6, own.system_identifier, a.leads IS NULL, coalesce(a.slots, own.next_slots, own.slots)
    FROM own LEFT JOIN ahead a ON true
    WHERE (a.leads IS NULL OR a.slots = own.slots OR a.target::text = own.target::text)
      AND NOT {back}
    ON CONFLICT (relay_group, window_no) WHERE leads DO NOTHING
    RETURNING *
), old AS (
    DELETE FROM @{_positions} p USING opened o
    WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no >= $3::bigint - 64 AND p.window_no < o.window_no - 64
)
SELECT window_no, prev::text, target::text, floor, next_floor, source_floor, last, opened_by::text,
       system_identifier, slots, leads
FROM opened
