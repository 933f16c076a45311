@{insert_ignore} @{} (consumer, id, at, token) VALUES (?, ?, @{later}(@{now}, ?), ?)
