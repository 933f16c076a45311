-- The ids of a page that are unchanged since they were found. Another process may have deleted
-- some, and a delivery may be processing or have committed a redelivered one, which then is not
-- old.
SELECT id FROM @{} WHERE consumer = ? AND id IN ({list}) AND at < ? LIMIT 9223372036854775807 @{skip_locked}
