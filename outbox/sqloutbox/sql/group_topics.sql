UPDATE @{_groups} SET topics = ? WHERE relay_group = ?
