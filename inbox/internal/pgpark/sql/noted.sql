SELECT fingerprint, reply FROM @{_notes} WHERE consumer = $1::smallint AND id = $2::uuid
  AND @{primary}
