-- Replaces note $2 of group $1 by $3.
UPDATE @{_leases} SET policies = $3 WHERE relay_group = $1 AND slot = 0 AND policies = $2
