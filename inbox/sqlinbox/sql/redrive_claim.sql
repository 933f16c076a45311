-- If the row is locked, gone or counted again, the claim does not wait. Parameters: number,
-- tries.
SELECT attempts FROM @{_parked} WHERE no = ? AND tries = ? AND state = 'redrive' @{skip_locked}
