-- The lease, if it is still ours, kept as it is until the transaction ends: who
-- wants to take it over finds it locked and passes on.
SELECT epoch FROM @{_leases}
WHERE relay_group = $1 AND slot = $2 AND owner = $3 AND epoch = $4
FOR SHARE
