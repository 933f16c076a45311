@{insert_ignore} @{_groups} (relay_group, owner, epoch, lease_until, rev, last, gaps, topics, paused, max_lag, former, policies, created_at, began)
VALUES (?, ?, 0, 0, 0, ?, ?, ?, ?, 0, ?, ?, @{now}, ?)
