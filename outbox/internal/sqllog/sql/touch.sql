-- InnoDB shows a commit before it is durable. The redo log is one stream: once this
-- statement is durable, so is all that was seen before it.
UPDATE @{_groups} SET rev = ?
WHERE relay_group = ? AND owner = ? AND epoch = ? AND rev >= ? AND lease_until > @{now}
