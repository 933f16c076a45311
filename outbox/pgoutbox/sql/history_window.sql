-- The snapshots of window $2 of group $1. All slots share them.
SELECT prev::text, target::text FROM @{_positions} WHERE relay_group = $1 AND window_no = $2 AND @{primary} ORDER BY slot LIMIT 1
