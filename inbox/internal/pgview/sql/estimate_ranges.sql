-- shows
EXPLAIN (FORMAT JSON) SELECT FROM @{_ranges} WHERE consumer = $1::smallint
