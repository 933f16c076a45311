-- Once a consumer, under a lock. The number is the one after the highest or, if none is left
-- there, a free one: a sequence would lose the numbers that were drawn in transactions that
-- rolled back. No row: all numbers are taken.
INSERT INTO @{_consumers} (id, name) OVERRIDING SYSTEM VALUE
SELECT n, $1::text
FROM (SELECT CASE WHEN max(id) < 32767 THEN max(id) + 1
                  WHEN max(id) IS NULL THEN 1
                  ELSE (SELECT min(g) FROM generate_series(1, 32767) AS g
                        WHERE g NOT IN (SELECT id FROM @{_consumers})) END AS n
      FROM @{_consumers}) AS free
WHERE n IS NOT NULL
RETURNING id
