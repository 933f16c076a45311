SELECT state, token, attempt, fingerprint, lease_until, forget_at, result, @{now} FROM @{} WHERE consumer = ? AND id = ?
