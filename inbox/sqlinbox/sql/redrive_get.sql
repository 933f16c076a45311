SELECT errors FROM @{_parked} WHERE no = ? AND tries = ? AND state = 'redrive' @{for_update}
