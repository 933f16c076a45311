-- The positions of the slots of group $1, as arrays: the newest window of each. No settled row
-- has a number above upto, since F was read behind the snapshot prev, nor a time behind
-- opened_at.
SELECT coalesce(pg_catalog.array_agg(slot), '{}'), coalesce(pg_catalog.array_agg(prev::text), '{}'), coalesce(pg_catalog.array_agg(target::text), '{}'),
       coalesce(pg_catalog.array_agg(last), '{}'), coalesce(pg_catalog.array_agg(greatest(source_floor, last)), '{}'),
       coalesce(pg_catalog.array_agg(opened_at), '{}')
FROM (SELECT DISTINCT ON (slot) slot, prev, target, last, source_floor, opened_at
      FROM @{_positions} WHERE relay_group = $1
      ORDER BY slot, window_no DESC) s
WHERE @{primary}
