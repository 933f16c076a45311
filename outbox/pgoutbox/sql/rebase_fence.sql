UPDATE @{_leases} SET owner = NULL, epoch = epoch + 1, lease_until = '-infinity' WHERE relay_group = $1
