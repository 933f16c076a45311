-- Compare-and-set: it can only go forward, in the window it means, under the
-- lease it was read with.
UPDATE @{_positions} p
SET last = $4
FROM @{_leases} l
WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no = $3 AND p.last < $4
  AND l.relay_group = p.relay_group AND l.slot = p.slot AND l.owner = $5 AND l.epoch = $6
