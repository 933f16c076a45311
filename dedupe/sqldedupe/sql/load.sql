SELECT state, token, attempt, fingerprint, lease_until, expires_at, result, @{now} FROM @{} WHERE consumer = ? AND id = ?
