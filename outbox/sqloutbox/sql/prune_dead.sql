-- Dead records have state 3.
DELETE FROM @{_held} WHERE state = 3 AND since < @{now} - ?
