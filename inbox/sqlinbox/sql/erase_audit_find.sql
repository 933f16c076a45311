SELECT no, message_id, topic, msg_key, details, reason FROM @{_audit} WHERE action <> 'erase' AND ({list}) ORDER BY no
