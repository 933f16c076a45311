-- What a page needs of its connection, if a pooler stands between and nothing can be set
-- for longer than a transaction: the settings of own.sql that decide on plans, row_security
-- and the search path. It goes ahead of the page in one batch, so that it costs no round trip.
-- Without these settings, stale statistics made the planner read a whole range for one page.
-- See design 2.10.
SELECT pg_catalog.set_config(v.name, v.value, true)
FROM (VALUES ('jit', 'off'),
             ('enable_seqscan', 'off'),
             ('enable_bitmapscan', 'off'),
             ('max_parallel_workers_per_gather', '0'),
             ('row_security', 'off'),
             ('search_path', 'pg_catalog, pg_temp')) v(name, value)
WHERE @{primary}
