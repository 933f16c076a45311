-- Who owns the ranges, where that is not the role that asks.
SELECT pg_get_userbyid(c.relowner)::text FROM pg_class c
WHERE c.oid = @{text:_ranges}::regclass AND c.relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
  AND @{primary}
