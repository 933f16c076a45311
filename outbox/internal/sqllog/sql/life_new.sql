UPDATE @{_meta} SET instance = ?, floor = ?, place = @{database} WHERE only_row = 1
