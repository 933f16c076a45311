-- The lock of the group, and the fence: writers of a group take turns.
SELECT owner, epoch, rev, lease_until - @{now}, @{now}, last, gaps FROM @{_groups} WHERE relay_group = ? @{for_update}
