SELECT grp, owner, epoch, lease_until - @{now}, @{now}, last, gaps, topics, paused, max_lag, created_at
FROM @{_groups} ORDER BY grp LIMIT 9223372036854775807
