SELECT relay_group, owner, epoch, CASE WHEN lease_from <= @{now} THEN lease_until - @{now} ELSE 0 END, @{now}, last, gaps, topics, paused, max_lag, created_at, began, former, policies, server, server_before, server_changed
FROM @{_groups} ORDER BY relay_group LIMIT 9223372036854775807
