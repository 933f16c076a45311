-- How many records are held, in a slot. $2 slots, $3 slot.
SELECT count(*) FROM @{_held} WHERE relay_group = $1 AND shard % $2::smallint = $3::smallint
  AND @{primary}
