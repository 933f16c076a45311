-- Parameters: consumer, id, attempts, no errors.
@{insert_ignore} @{_attempts} (consumer, id, attempts, first_at, last_at, errors) VALUES (?, ?, ?, @{now}, @{now}, ?)
