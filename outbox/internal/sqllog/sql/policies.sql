-- The note of a group about policies, and the clock by which leases are measured.
SELECT policies, @{now} FROM @{_groups} WHERE relay_group = ?
