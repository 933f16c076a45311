-- Window 0 of group $1 ends at a snapshot and holds all that it sees: from number $2 on,
-- where that is not NULL, else nothing of it.
UPDATE @{_positions}
SET last = coalesce($2::bigint - 1, last), prev = CASE WHEN $2::bigint IS NULL THEN target ELSE prev END
WHERE relay_group = $1
