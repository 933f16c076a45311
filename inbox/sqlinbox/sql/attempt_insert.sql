-- Parameters: consumer, id, attempts, the empty list of errors.
@{insert_ignore} @{_attempts} (consumer, id, attempts, first_at, last_at, errors) VALUES (?, ?, ?, @{now}, @{now}, ?)
