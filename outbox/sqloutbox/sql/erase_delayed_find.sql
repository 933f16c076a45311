SELECT no, id, topic, msg_key, headers FROM @{_delayed} WHERE {list} ORDER BY no
