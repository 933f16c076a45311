SELECT no, at, action, actor, reason, grp, seq, id, topic, msg_key, details FROM @{_audit} WHERE {list}
