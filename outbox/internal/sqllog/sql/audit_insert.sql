INSERT INTO @{_audit} (at, action, actor, reason, relay_group, seq, id, topic, msg_key, details)
VALUES (@{now}, ?, ?, ?, ?, ?, ?, ?, ?, ?)
