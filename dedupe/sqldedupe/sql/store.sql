UPDATE @{} SET state = ?, token = ?, attempt = ?, fingerprint = ?, lease = ?, lease_until = ?, expires_at = ?, result = ?
WHERE consumer = ? AND id = ?
