INSERT INTO @{_audit} (at, action, actor, reason, grp, seq, id, topic, msg_key, details)
VALUES (@{now}, ?, ?, ?, ?, ?, ?, ?, ?, ?)
