-- The leases of a group, kept from being claimed until the transaction ends: how
-- many there are, and who holds one.
SELECT count(*), max(owner) FILTER (WHERE lease_until > clock_timestamp())
FROM (SELECT owner, lease_until FROM @{_leases} WHERE relay_group = $1 FOR UPDATE) l
