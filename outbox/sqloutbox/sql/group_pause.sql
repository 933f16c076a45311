UPDATE @{_groups} SET paused = ? WHERE grp = ?
