-- What is paused of group $1.
SELECT coalesce((SELECT paused FROM @{_groups} WHERE relay_group = $1), '{}')
WHERE @{primary}
