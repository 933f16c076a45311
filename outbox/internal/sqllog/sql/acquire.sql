-- rev changes in every UPDATE of a relay: one that changes nothing would report no rows. It
-- ascends, and only relays write it: a row that was put back from a copy has a lower one
-- than the relay has written since. A lease counts while the clock is between its
-- ends: one that lies ahead was given by a clock that has gone back. The last two are owner and epoch of a holder that has died.
-- MySQL and MariaDB assign from left to right: server is the last one's until it is set.
UPDATE @{_groups} SET owner = ?, epoch = epoch + 1, lease_from = @{now} - ?, lease_until = @{now} + ?, topics = ?,
    server_before = CASE WHEN server IN ('', @{server}) THEN server_before ELSE server END,
    server_changed = CASE WHEN server IN ('', @{server}) THEN server_changed ELSE @{now} END,
    server = @{server}, rev = rev + 1
WHERE relay_group = ? AND (lease_until <= @{now} OR lease_from > @{now} OR owner = ? AND epoch = ?)
