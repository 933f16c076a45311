-- As parked_take.sql.
SELECT attempts, errors FROM @{_parked} WHERE no = ? AND state <> 'redrive' @{skip_locked}
