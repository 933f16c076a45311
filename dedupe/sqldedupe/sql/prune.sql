DELETE FROM @{} WHERE expires_at <= ?
