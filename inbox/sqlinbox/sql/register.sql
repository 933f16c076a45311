@{insert_ignore} @{_consumers} (name, since, fence) VALUES (?, @{now}, 0)
