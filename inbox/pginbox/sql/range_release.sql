UPDATE @{_retention} SET owner = NULL, lease_until = '-infinity' WHERE owner = $1
