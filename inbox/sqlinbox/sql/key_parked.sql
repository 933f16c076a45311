SELECT EXISTS (SELECT 1 FROM @{_parked} WHERE consumer = ? AND key_hash = ? AND topic = ? AND msg_key = ?)
