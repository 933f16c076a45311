-- Who finds the row gone or counted again leaves it to the other. Who finds it locked waits:
-- another process looks for the next one, and gives it back at once. To leave it would cost
-- an attempt, and the time for which a picked message is left alone.
-- Parameters: number, tries.
SELECT attempts FROM @{_parked} WHERE no = ? AND tries = ? AND state = 'redrive' @{for_update}
