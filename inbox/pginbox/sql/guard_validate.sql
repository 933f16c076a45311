-- Reads the whole table; claims continue at the same time.
ALTER TABLE @{} VALIDATE CONSTRAINT @{name:_no_ranged_ids}
