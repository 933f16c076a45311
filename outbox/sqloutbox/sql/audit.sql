SELECT no, at, action, actor, reason, relay_group, seq, id, topic, msg_key, details FROM @{_audit} WHERE {list}
