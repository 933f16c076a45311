-- As seen.sql, for an id of the ranges. It is sent with its values in the text: with
-- parameters the server may keep a plan for all values, which locks all ranges.
SELECT EXISTS (SELECT FROM @{_ranges} WHERE consumer = $1::smallint AND id = $2::uuid),
  $2::uuid < (SELECT floor FROM @{_retention} WHERE mode = 'delete'), current_setting('synchronous_commit')
WHERE @{primary}
