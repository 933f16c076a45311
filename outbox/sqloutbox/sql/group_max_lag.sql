UPDATE @{_groups} SET max_lag = ?, rev = rev + 1 WHERE grp = ?
