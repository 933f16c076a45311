UPDATE @{_meta} SET floor = ? WHERE only_row = 1
