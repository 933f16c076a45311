SELECT relay_group, owner, epoch, lease_until - @{now}, @{now}, last, gaps, topics, paused, max_lag, created_at, began
FROM @{_groups} ORDER BY relay_group LIMIT 9223372036854775807
