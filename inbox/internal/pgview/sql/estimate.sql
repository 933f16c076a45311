-- The planner's word on how many ids a consumer has.
-- shows
EXPLAIN (FORMAT JSON) SELECT FROM @{} WHERE consumer = $1::smallint
