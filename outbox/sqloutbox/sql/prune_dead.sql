-- Dead records have state 3.
SELECT relay_group, seq FROM @{_held} WHERE state = 3 AND since < @{now} - ? LIMIT ?
