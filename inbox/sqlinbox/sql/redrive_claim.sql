-- Who finds the row locked, gone or counted again leaves it to the other.
-- Parameters: number, tries.
SELECT attempts FROM @{_parked} WHERE no = ? AND tries = ? AND state = 'redrive' @{skip_locked}
