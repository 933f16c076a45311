SELECT seq, id, topic, msg_key, state, next_at, attempts, errors, reason, since, bytes FROM @{_held} WHERE {list}
