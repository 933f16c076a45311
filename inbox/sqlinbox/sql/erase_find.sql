-- The last come first, since deleting a message makes the one behind it due.
SELECT p.no, p.consumer, c.name, p.message_id, p.topic, p.msg_key, p.metadata, p.metadata_raw
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE {list} ORDER BY p.no DESC
