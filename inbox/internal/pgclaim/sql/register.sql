-- Once a consumer, under a lock. The number is the one behind the highest, and at the end one
-- that is free: a sequence would not give back what a transaction has drawn that rolled back.
-- No row: all numbers are taken.
INSERT INTO @{_consumers} (id, name) OVERRIDING SYSTEM VALUE
SELECT n, $1::text
FROM (SELECT CASE WHEN max(id) < 32767 THEN max(id) + 1
                  WHEN max(id) IS NULL THEN 1
                  ELSE (SELECT min(g) FROM generate_series(1, 32767) AS g
                        WHERE g NOT IN (SELECT id FROM @{_consumers})) END AS n
      FROM @{_consumers}) AS free
WHERE n IS NOT NULL
RETURNING id
