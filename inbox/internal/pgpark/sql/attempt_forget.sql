-- Rows of messages that need none any more. Skips what another session has
-- locked: it will find the message processed.
DELETE FROM @{_attempts} a
USING (SELECT consumer, id FROM @{_attempts} WHERE consumer = $1::smallint AND id = ANY ($2::uuid[]) FOR UPDATE SKIP LOCKED) d
WHERE a.consumer = d.consumer AND a.id = d.id
