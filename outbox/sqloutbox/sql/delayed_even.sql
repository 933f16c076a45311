UPDATE @{_delayed} SET not_before = ? WHERE no = ?
