-- Makes a connection one of the library's own. $1 is the process id that the connection was told when
-- it began. If another process answers (poolers invent numbers), a pooler stands between, and what is
-- set would stay with a server connection that another client gets next. Then nothing is set. Plans
-- walk indexes, whatever the statistics say: those of a log that has grown since the last ANALYZE, or
-- of a server that has just crashed, would have whole ranges read and sorted for a page. A plan is
-- made once: of a page of a few rows, planning was three quarters of the price, since custom plans
-- look cheaper to the planner than they are. With row_security off, rows that a policy would hide are
-- an error, never an empty page. Between two renewals a session is idle for a third of the lease, and
-- one that listens for as long as nobody commits: timeouts that would end them are off. Version 17
-- alone has transaction_timeout. bytea_output and array_nulls decide what texts mean, and the search
-- path which functions are called (rule S12). The reset values are those that the role, the database
-- and the address ask for, whatever this session has set. See design 2.8, 2.10 and 9.2.
SELECT s.direct, s.synchronous_commit, s.isolation, s.read_only,
       (SELECT count(set_config(v.name, v.value, false))
        FROM (VALUES ('jit', 'off'),
                     ('synchronous_commit', 'off'),
                     ('default_transaction_isolation', 'read committed'),
                     ('default_transaction_read_only', 'off'),
                     ('lock_timeout', '5s'),
                     ('statement_timeout', '60s'),
                     ('idle_in_transaction_session_timeout', '60s'),
                     ('enable_seqscan', 'off'),
                     ('enable_bitmapscan', 'off'),
                     ('max_parallel_workers_per_gather', '0'),
                     ('plan_cache_mode', 'force_generic_plan'),
                     ('row_security', 'off'),
                     ('idle_session_timeout', '0'),
                     ('transaction_timeout', '0'),
                     ('bytea_output', 'hex'),
                     ('search_path', 'pg_catalog, pg_temp'),
                     ('array_nulls', 'on')) v(name, value)
        WHERE s.direct AND current_setting(v.name, true) IS NOT NULL)
FROM (SELECT pg_backend_pid() = $1::bigint AS direct,
             max(reset_val) FILTER (WHERE name = 'synchronous_commit') AS synchronous_commit,
             max(reset_val) FILTER (WHERE name = 'default_transaction_isolation') AS isolation,
             max(reset_val) FILTER (WHERE name = 'default_transaction_read_only') AS read_only
      FROM pg_settings) s
WHERE @{primary}
