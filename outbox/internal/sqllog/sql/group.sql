SELECT owner, epoch, lease_until - @{now}, @{now}, last, gaps FROM @{_groups} WHERE grp = ?
