-- The leases of a group: how many there are, and who holds one. They are locked, so that none
-- is claimed before the transaction ends.
SELECT count(*), max(owner) FILTER (WHERE clock_timestamp() BETWEEN lease_from AND lease_until)
FROM (SELECT owner, lease_from, lease_until FROM @{_leases} WHERE relay_group = $1 FOR UPDATE) l
