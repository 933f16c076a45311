-- Whether the log holds a row that proves that its sequence was set back behind the window
-- own: one of a transaction after the window's own whose number is not above the F that was
-- read before that, or one above the target's xmax whose number is not above the next floor
-- (see the package comment). Exact, however much is waiting: it goes over the entries of the
-- index on (xid, seq) behind the window, and fetches no rows. The LIMITs stand in subqueries,
-- where EXISTS does not drop the order that makes the planner take that index.
-- part of other statements
(EXISTS (
        SELECT FROM (SELECT FROM @{} o
                     WHERE o.xid > own.opened_by AND o.seq <= own.source_floor
                     ORDER BY o.xid, o.seq
                     LIMIT 1) r)
      OR EXISTS (
        SELECT FROM (SELECT FROM @{} o
                     WHERE o.xid >= pg_snapshot_xmax(own.target) AND o.xid <= own.opened_by AND o.seq <= own.next_floor
                     ORDER BY o.xid, o.seq
                     LIMIT 1) r))
