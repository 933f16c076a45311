DELETE FROM @{_audit} WHERE at < @{now} - ?
