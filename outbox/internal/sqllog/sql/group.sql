SELECT owner, epoch, rev, lease_until - @{now}, @{now}, last, gaps FROM @{_groups} WHERE relay_group = ?
