@{insert_ignore} @{_positions} (name, last, gaps) VALUES (?, -1, '')
