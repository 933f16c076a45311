-- Prepared transactions that are older than $1. They stay until an operator ends them.
SELECT gid, owner, database, clock_timestamp() - prepared
FROM pg_prepared_xacts
WHERE prepared < clock_timestamp() - $1::interval
ORDER BY prepared
LIMIT 10
