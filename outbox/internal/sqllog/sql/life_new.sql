UPDATE @{_meta} SET instance = ?, floor = ? WHERE only_row = 1
