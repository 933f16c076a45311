-- Waits for others that change the queue of a key.
SELECT bucket FROM @{_locks} WHERE bucket = ? @{for_update}
