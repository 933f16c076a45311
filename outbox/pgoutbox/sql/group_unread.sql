-- How many messages group $1 has not settled.
SELECT count(*) FROM @{_pending} WHERE relay_group = $1 AND @{primary}
