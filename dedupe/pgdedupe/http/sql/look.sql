SELECT fingerprint, response FROM @{} WHERE consumer = $1 AND id = $2 AND expires_at > least(clock_timestamp(), $3::timestamptz)
  AND @{primary}
