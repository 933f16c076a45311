UPDATE @{_meta} SET floor = floor WHERE 1 = 0
