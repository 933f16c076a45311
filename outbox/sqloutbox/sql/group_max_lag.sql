UPDATE @{_groups} SET max_lag = ? WHERE grp = ?
