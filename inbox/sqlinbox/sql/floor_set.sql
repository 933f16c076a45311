UPDATE @{_locks} SET floor = ? WHERE bucket IN ({list})
