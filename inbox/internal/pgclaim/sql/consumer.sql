-- Once a connection.
SELECT id FROM @{_consumers} WHERE name = $1::text AND @{primary}
