SELECT floor FROM @{_meta} WHERE only_row = 1
