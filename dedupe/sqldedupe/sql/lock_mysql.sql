-- Locks the row, which it makes if there is none. INSERT IGNORE would share the lock of a row
-- that is there, and two sessions that share it deadlock when they write.
INSERT INTO @{} (consumer, id, state, token, attempt, fingerprint, lease, lease_until, expires_at)
VALUES (?, ?, 0, '', 0, '', 0, 0, 0) ON DUPLICATE KEY UPDATE consumer = VALUES(consumer)
