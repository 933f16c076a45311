UPDATE @{_groups} SET paused = ?, rev = rev + 1 WHERE grp = ?
