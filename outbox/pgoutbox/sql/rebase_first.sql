-- Window 0 of group $1 ends at a snapshot. It holds the rows that the snapshot sees from number
-- $2 on, or none of them if $2 is NULL.
UPDATE @{_positions}
SET last = coalesce($2::bigint - 1, last), prev = CASE WHEN $2::bigint IS NULL THEN target ELSE prev END
WHERE relay_group = $1
