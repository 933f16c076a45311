-- See design 5.4.
INSERT INTO @{_audit} (action, actor, reason, relay_group, details) VALUES ($1, $2, $3, $4, $5::jsonb)
