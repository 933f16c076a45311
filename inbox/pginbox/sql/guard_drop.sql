ALTER TABLE @{} DROP CONSTRAINT IF EXISTS @{name:_no_ranged_ids}
