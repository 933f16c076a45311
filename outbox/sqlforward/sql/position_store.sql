UPDATE @{_positions} SET last = ?, gaps = ? WHERE name = ?
