-- The lease, if it is still ours, locked until the transaction ends: a rival that wants to take
-- it over finds it locked and skips it.
SELECT epoch FROM @{_leases}
WHERE relay_group = $1 AND slot = $2 AND owner = $3 AND epoch = $4
FOR SHARE
