-- Keeps version 7 ids from {cutover} on out of the plain table, whatever release of
-- the library or stale connection wants to put them there.
ALTER TABLE @{} ADD CONSTRAINT @{name:_no_ranged_ids} CHECK (
  id < '{cutover}' OR get_byte(uuid_send(id), 6) >> 4 <> 7 OR get_byte(uuid_send(id), 8) >> 6 <> 2) NOT VALID
