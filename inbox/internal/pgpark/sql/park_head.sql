-- After the key's lock was taken, in a statement of its own: the snapshot is
-- younger than whatever the lock waited for.
SELECT EXISTS (SELECT FROM @{_parked} WHERE consumer = $1::smallint AND key_hash = $2::bigint AND key = $3::bytea)
WHERE @{primary}
