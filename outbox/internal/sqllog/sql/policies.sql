-- The note of a group about policies, and the clock that leases go by.
SELECT policies, @{now} FROM @{_groups} WHERE relay_group = ?
