-- Stores $4, the sequence's value from the probe before, as the F of the newest
-- window, in a transaction of its own. opened_by becomes this transaction, so
-- that a reader that ends before it opens the next window still sees that there
-- may be something new.
-- See design 2.4.
UPDATE @{_positions} p
SET source_floor = $4, opened_by = pg_current_xact_id()
FROM @{_leases} l
WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no = $3 AND p.source_floor < $4
  AND l.relay_group = p.relay_group AND l.slot = p.slot AND l.owner = $5 AND l.epoch = $6
