-- Moves everything of group $1 except its audit to group $2. None of its leases is held.
WITH l AS (UPDATE @{_leases} SET relay_group = $2 WHERE relay_group = $1),
     p AS (UPDATE @{_positions} SET relay_group = $2 WHERE relay_group = $1),
     h AS (UPDATE @{_held} SET relay_group = $2 WHERE relay_group = $1 RETURNING 1),
     d AS (UPDATE @{_dead} SET relay_group = $2 WHERE relay_group = $1),
     o AS (DELETE FROM @{_out} WHERE relay_group = $1),
     m AS (DELETE FROM @{_members} WHERE relay_group = $1),
     g AS (UPDATE @{_groups} SET relay_group = $2, former = array_append(array_remove(former, $2), $1)
           WHERE relay_group = $1 RETURNING 1)
SELECT (SELECT count(*) FROM g), (SELECT count(*) FROM h)
