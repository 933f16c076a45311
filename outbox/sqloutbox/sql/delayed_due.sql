SELECT not_before, no, msg_key FROM @{_delayed}
WHERE not_before <= @{now} AND (not_before > ? OR (not_before = ? AND no > ?))
ORDER BY not_before, no LIMIT ?
