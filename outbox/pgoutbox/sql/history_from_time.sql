-- The first number whose row was stored at $1 or later, by way of the BRIN index on
-- created_at: it costs as much as the rows from there on. The + 0 keeps the planner
-- from walking all that is older in the order of seq, which to it looks cheap.
SELECT coalesce(min(o.seq + 0), $2::bigint + 1) FROM @{} o WHERE o.created_at >= $1::timestamptz
  AND @{primary}
