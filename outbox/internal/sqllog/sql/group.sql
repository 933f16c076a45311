SELECT owner, epoch, rev, CASE WHEN lease_from <= @{now} THEN lease_until - @{now} ELSE 0 END, @{now}, last, gaps, topics, server, server_before, server_changed FROM @{_groups} WHERE relay_group = ?
