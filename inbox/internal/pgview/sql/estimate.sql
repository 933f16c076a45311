-- The planner's estimate of how many ids a consumer has.
-- shows
EXPLAIN (FORMAT JSON) SELECT FROM @{} WHERE consumer = $1::smallint
