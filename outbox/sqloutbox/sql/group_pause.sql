UPDATE @{_groups} SET paused = ? WHERE relay_group = ?
