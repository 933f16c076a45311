-- How many transactions and multixacts ago the oldest rows of each database were frozen. The
-- server refuses writes to all of its databases at 2^31, whichever of them is the oldest.
SELECT datname, age(datfrozenxid)::bigint, mxid_age(datminmxid)::bigint
FROM pg_database
ORDER BY greatest(age(datfrozenxid), mxid_age(datminmxid)) DESC
LIMIT 10
