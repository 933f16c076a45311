SELECT fingerprint, response FROM @{} WHERE consumer = $1 AND id = $2 AND expires_at > clock_timestamp()
  AND @{primary}
