-- Removes everything of a group except its dead records and its audit.
WITH l AS (DELETE FROM @{_leases} WHERE relay_group = $1 RETURNING 1),
     p AS (DELETE FROM @{_positions} WHERE relay_group = $1 RETURNING 1),
     h AS (DELETE FROM @{_held} WHERE relay_group = $1 RETURNING 1),
     o AS (DELETE FROM @{_out} WHERE relay_group = $1),
     m AS (DELETE FROM @{_members} WHERE relay_group = $1 RETURNING 1),
     g AS (DELETE FROM @{_groups} WHERE relay_group = $1 RETURNING 1)
SELECT (SELECT count(*) FROM l) + (SELECT count(*) FROM p) + (SELECT count(*) FROM g), (SELECT count(*) FROM h), (SELECT count(*) FROM m)
