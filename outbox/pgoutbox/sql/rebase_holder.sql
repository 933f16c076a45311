-- $2 are owners whose sessions are gone. A lease that has run out since the transaction began
-- counts as held: what was written under it could be missing in the snapshot.
SELECT owner, greatest(0, (extract(epoch FROM lease_until - clock_timestamp()) * 1000000.0)::bigint)
FROM @{_leases}
WHERE relay_group = $1 AND owner IS NOT NULL AND transaction_timestamp() BETWEEN lease_from AND lease_until AND owner <> ALL ($2::text[])
  AND @{primary}
ORDER BY lease_until DESC
LIMIT 1
