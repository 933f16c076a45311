-- The columns of a table of this database, and whether they may be NULL.
SELECT column_name, is_nullable = 'YES' FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position
