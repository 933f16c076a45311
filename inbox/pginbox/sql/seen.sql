-- After a claim without a row, in a transaction of its own: its snapshot is
-- younger than whatever the claim ran into.
SELECT EXISTS (SELECT FROM @{} WHERE consumer = $1::smallint AND id = $2::uuid), current_setting('synchronous_commit')
WHERE @{primary}
