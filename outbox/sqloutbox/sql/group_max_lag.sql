UPDATE @{_groups} SET max_lag = ? WHERE relay_group = ?
