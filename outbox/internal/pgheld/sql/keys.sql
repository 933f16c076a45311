-- The keys that have held records, in a slot. The first record of a key is not in state wait, so
-- the records behind it are not read. $2 slots, $3 slot. See design 5.3.
SELECT DISTINCT topic, key FROM @{_held}
WHERE relay_group = $1 AND state <> 'wait' AND key IS NOT NULL AND shard % $2::smallint = $3::smallint
  AND @{primary}
