-- The last come first, since the one behind a message that goes would be due.
SELECT p.no, p.consumer, c.name, p.message_id, p.topic, p.msg_key, p.metadata, p.metadata_raw
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE {list} ORDER BY p.no DESC
