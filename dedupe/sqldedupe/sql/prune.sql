DELETE FROM @{} WHERE forget_at <= ?
