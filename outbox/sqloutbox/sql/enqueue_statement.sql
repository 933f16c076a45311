-- The locks of the keys, then the numbers, for a caller who runs one statement alone. The
-- first value is evaluated before a number is drawn. LIMIT keeps the order of the locks, and
-- the part that locks them from being merged into another. If one of them is missing, the
-- last part has two rows where one may be: an error in any mode.
(SELECT CASE WHEN (SELECT COUNT(*) FROM
    (SELECT bucket FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket LIMIT {n} @{for_update}) AS l) = {n}
 THEN ? ELSE (SELECT 1 UNION ALL SELECT 2) END)
