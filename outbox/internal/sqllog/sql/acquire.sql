-- rev changes in every UPDATE of a relay: one that changes nothing would report no rows. It
-- ascends, and only relays write it: a row that was put back from a copy has a lower one
-- than the relay has written since. The last two are owner and epoch of a holder that has died.
UPDATE @{_groups} SET owner = ?, epoch = epoch + 1, lease_until = @{now} + ?, topics = ?, rev = rev + 1
WHERE relay_group = ? AND (lease_until <= @{now} OR owner = ? AND epoch = ?)
