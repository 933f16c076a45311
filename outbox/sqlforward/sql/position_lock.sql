-- Forwarders take turns: one that does not get the row leaves the page to another.
SELECT last, gaps, @{now} FROM @{_positions} WHERE name = ? @{skip_locked}
