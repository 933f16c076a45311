-- Stores note $3 of group $1 in place of $2.
UPDATE @{_leases} SET policies = $3 WHERE relay_group = $1 AND slot = 0 AND policies = $2
