SELECT seq, id, topic, msg_key, headers, relay_group, state FROM @{_held} WHERE {list} ORDER BY relay_group, seq
