-- Compare-and-set: it only moves forward, in the expected window, under the lease with which it
-- was read.
UPDATE @{_positions} p
SET last = $4
FROM @{_leases} l
WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no = $3 AND p.last < $4
  AND l.relay_group = p.relay_group AND l.slot = p.slot AND l.owner = $5 AND l.epoch = $6
