SELECT window_no, last FROM @{_positions}
WHERE relay_group = $1 AND slot = $2 AND @{primary}
ORDER BY window_no DESC
LIMIT 1
