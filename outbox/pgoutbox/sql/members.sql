-- The live relays of group $1: those that have registered, and those that lead. A lease's owner
-- is the relay's name and the number of the claim.
-- shows
SELECT coalesce(m.member, l.member), coalesce(l.slots, '{}'), coalesce(m.slots, 0), m.since, greatest(m.seen_until, l.lease_until)
FROM (SELECT member, slots, since, seen_until FROM @{_members}
      WHERE relay_group = $1 AND clock_timestamp() BETWEEN seen_from AND seen_until) m
FULL JOIN (SELECT regexp_replace(owner, '/[0-9]+$', '') AS member, pg_catalog.array_agg(slot::integer ORDER BY slot) AS slots,
                  max(lease_until) AS lease_until
           FROM @{_leases}
           WHERE relay_group = $1 AND owner IS NOT NULL AND clock_timestamp() BETWEEN lease_from AND lease_until
           GROUP BY 1) l ON l.member = m.member
ORDER BY 1
