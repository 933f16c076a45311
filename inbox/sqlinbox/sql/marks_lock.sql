-- The tokens of a group's marks, locked. Parameters: group, topic, source.
SELECT part, token FROM @{_marks} WHERE consumer_group = ? AND topic = ? AND source = ? @{for_update}
