SELECT coalesce(owner, ''), greatest(0, extract(epoch FROM lease_until - clock_timestamp()) * 1000000.0)::bigint
FROM @{_leases}
WHERE relay_group = $1 AND slot = $2 AND lease_until > '-infinity'
  AND @{primary}
