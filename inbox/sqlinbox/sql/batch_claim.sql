@{insert_ignore} @{} (consumer, id, at, token) VALUES (?, ?, @{now}, ?)
