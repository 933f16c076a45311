DELETE FROM @{_parked} WHERE no = ?
