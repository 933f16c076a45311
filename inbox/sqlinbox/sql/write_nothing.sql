UPDATE @{_locks} SET floor = floor WHERE 1 = 0
