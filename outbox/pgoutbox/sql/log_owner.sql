-- Who owns the log, who asks, and whether that role may act as the owner.
SELECT pg_get_userbyid(c.relowner)::text, current_user::text, pg_has_role(c.relowner, 'MEMBER')
FROM pg_class c
WHERE c.oid = @{text:}::regclass AND @{primary}
