-- The transaction has the only lock already.
INSERT INTO @{} (consumer, id, state, token, attempt, fingerprint, lease, lease_until, expires_at)
VALUES (?, ?, 0, x'', 0, x'', 0, 0, 0) ON CONFLICT (consumer, id) DO NOTHING
