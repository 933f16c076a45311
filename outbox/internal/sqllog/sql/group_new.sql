@{insert_ignore} @{_groups} (grp, owner, epoch, lease_until, rev, last, gaps, topics, paused, max_lag, created_at)
VALUES (?, ?, 0, 0, 0, ?, ?, ?, ?, 0, @{now})
