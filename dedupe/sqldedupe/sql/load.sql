SELECT state, token, attempt, fingerprint, lease, lease_until, expires_at, result, @{now} FROM @{} WHERE consumer = ? AND id = ?
