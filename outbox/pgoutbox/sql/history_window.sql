-- The snapshots of window $2 of group $1. All slots share them. Those of another cluster mean
-- nothing here.
SELECT prev::text, target::text FROM @{_positions}
WHERE relay_group = $1 AND window_no = $2 AND system_identifier = (SELECT c.system_identifier FROM pg_control_system() c) AND @{primary}
ORDER BY slot LIMIT 1
