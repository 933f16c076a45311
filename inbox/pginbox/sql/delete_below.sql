-- A chunk of one consumer's ids below the floor $2, from the oldest on.
DELETE FROM @{_ranges} r
USING (SELECT id FROM @{_ranges} WHERE consumer = $1::smallint AND id < $2::uuid ORDER BY id LIMIT $3) old
WHERE r.consumer = $1::smallint AND r.id = old.id
