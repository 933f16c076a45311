-- $2 are owners whose sessions are gone.
SELECT owner, (extract(epoch FROM lease_until - clock_timestamp()) * 1000000.0)::bigint
FROM @{_leases}
WHERE relay_group = $1 AND owner IS NOT NULL AND clock_timestamp() BETWEEN lease_from AND lease_until AND owner <> ALL ($2::text[])
  AND @{primary}
ORDER BY lease_until DESC
LIMIT 1
