-- A chunk of one consumer's ids below the floor $2, from the oldest on; none if the floor has been lowered since ($3). A
-- snapshot that sees an id claimed after that sees the lowered floor as well.
DELETE FROM @{_ranges} r
USING (SELECT id FROM @{_ranges} WHERE consumer = $1::smallint AND id < $2::uuid AND (SELECT lowered FROM @{_retention}) = $3::integer
  ORDER BY id LIMIT $4) old
WHERE r.consumer = $1::smallint AND r.id = old.id
