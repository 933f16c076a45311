-- Which of the locks $1 this transaction holds. An advisory lock of one bigint is listed as
-- its two halves, with an objsubid of 1.
SELECT h
FROM pg_catalog.unnest($1::bigint[]) AS h
WHERE h IN (SELECT l.classid::bigint << 32 | l.objid::bigint
            FROM pg_locks l
            WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.objsubid = 1)
  AND @{primary}
