SELECT a.no, a.at, c.name, a.action, a.actor, a.reason, a.parked_no, a.message_id, a.topic, a.msg_key, a.details
FROM @{_audit} a JOIN @{_consumers} c ON c.id = a.consumer
WHERE {list} LIMIT ?
