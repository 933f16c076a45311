-- Reads the whole table; claims go on meanwhile.
ALTER TABLE @{} VALIDATE CONSTRAINT @{name:_no_ranged_ids}
