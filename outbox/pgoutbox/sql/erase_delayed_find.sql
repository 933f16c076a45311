-- As erase_find.sql, of what is not due yet.
SELECT coalesce(id_text, id::text), topic FROM @{_delayed}
WHERE (key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR coalesce(id_text, id::text) = ANY ($3::text[]) OR headers ->> $4::text = $5::text)
  AND @{primary}
