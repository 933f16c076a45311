-- Parameters: state, reason or NULL, its group or NULL, microseconds to wait, attempts and
-- tries that are taken back, errors, number.
UPDATE @{_parked} SET state = ?, reason = COALESCE(?, reason), reason_group = COALESCE(?, reason_group),
  next_at = @{now} + ?, attempts = attempts - ?, tries = tries - ?, errors = ? WHERE no = ?
