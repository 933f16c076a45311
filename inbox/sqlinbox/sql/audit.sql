INSERT INTO @{_audit} (at, consumer, action, actor, reason, parked_no, message_id, topic, msg_key, details)
VALUES (@{now}, ?, ?, ?, ?, ?, ?, ?, ?, ?)
