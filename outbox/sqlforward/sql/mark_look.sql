-- The row that has the last number now, the one that had it, and the highest number.
SELECT (SELECT uuid FROM @{messages} WHERE `offset` = ?), (SELECT uuid FROM @{_marks} WHERE name = ? AND number = ?),
       (SELECT COALESCE(MAX(`offset`), 0) FROM @{messages})
