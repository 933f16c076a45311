-- When partitions are assigned, and now and then: the marks of a group's partitions of a topic.
-- History is the cluster, its timeline, the database and the table. The timeline is that of the
-- log's current file: pg_control_checkpoint() tells of a new one too late.
SELECT h.history, h.known, m.part, m.next_off, m.token
FROM (SELECT {history} AS history, EXISTS (SELECT FROM @{_marks} WHERE consumer_group = $1::text) AS known) h
LEFT JOIN @{_marks} m ON m.consumer_group = $1::text AND m.topic = $2::text AND m.source = $3::text
WHERE @{primary}
