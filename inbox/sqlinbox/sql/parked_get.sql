SELECT attempts, errors FROM @{_parked} WHERE no = ? AND state <> 'redrive' @{for_update}
