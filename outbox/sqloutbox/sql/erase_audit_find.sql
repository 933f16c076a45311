-- Parameters: the action to leave out, and those of the list.
SELECT no, id, topic, msg_key, details, reason FROM @{_audit} WHERE action <> ? AND ({list}) ORDER BY no
