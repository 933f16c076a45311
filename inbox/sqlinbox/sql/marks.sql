-- The marks of a group's partitions of a topic, and where they are: the server and the database. One row
-- with NULL if there are none. Parameters: group, group, topic, source.
SELECT h.history, h.known, m.part, m.next_off, m.token
FROM (SELECT @{server} AS history, EXISTS (SELECT 1 FROM @{_marks} WHERE consumer_group = ?) AS known) h
LEFT JOIN @{_marks} m ON m.consumer_group = ? AND m.topic = ? AND m.source = ?
