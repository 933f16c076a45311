-- The lease that ends first.
SELECT coalesce(l.owner, ''), greatest(0, extract(epoch FROM l.lease_until - clock_timestamp()) * 1000000)::bigint
FROM @{_leases} l JOIN @{_groups} g ON g.relay_group = l.relay_group
WHERE l.relay_group = $1 AND l.slot < g.slots AND l.owner IS NOT NULL AND clock_timestamp() BETWEEN l.lease_from AND l.lease_until
  AND @{primary}
ORDER BY l.lease_until
LIMIT 1
