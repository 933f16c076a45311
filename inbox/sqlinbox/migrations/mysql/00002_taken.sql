-- A column that nothing reads or writes. MySQL asks for UPDATE of a column of whoever locks
-- rows: by this one a consumer locks ids, and can neither raise a floor nor remove a lock.
-- The wait for transactions that have a lock is bounded, since others wait behind it.
SET @leat_wait = @@SESSION.lock_wait_timeout;
SET SESSION lock_wait_timeout = 10;
SET @leat_taken = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE @{_locks} ADD COLUMN taken TINYINT NOT NULL DEFAULT 0', 'DO 0')
FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name = TRIM(BOTH '`' FROM '@{_locks}') AND column_name = 'taken');
PREPARE leat_taken FROM @leat_taken;
EXECUTE leat_taken;
DEALLOCATE PREPARE leat_taken;
SET SESSION lock_wait_timeout = @leat_wait;
