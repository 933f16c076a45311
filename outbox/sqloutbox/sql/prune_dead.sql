-- Dead records have state 3.
SELECT grp, seq FROM @{_held} WHERE state = 3 AND since < @{now} - ? LIMIT ?
