UPDATE @{} SET state = ?, token = ?, attempt = ?, fingerprint = ?, lease_until = ?, forget_at = ?, result = ?
WHERE consumer = ? AND id = ?
