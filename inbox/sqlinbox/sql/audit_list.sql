SELECT a.no, a.at, COALESCE(c.name, ''), a.action, a.actor, a.reason, a.parked_no, a.message_id, a.topic, a.msg_key, a.details
FROM @{_audit} a LEFT JOIN @{_consumers} c ON c.id = a.consumer
WHERE {list} LIMIT ?
