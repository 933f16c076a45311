-- Who finds the row locked, gone or counted again waits for nobody.
-- Parameters: number, tries.
SELECT attempts FROM @{_parked} WHERE no = ? AND tries = ? AND state = 'redrive' @{skip_locked}
