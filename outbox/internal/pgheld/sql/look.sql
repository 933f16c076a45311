-- Held records by their places, for a dry run. $1 group, $2 seqs.
SELECT seq, coalesce(id_text, id::text), topic, key, held_at FROM @{_held} WHERE relay_group = $1 AND seq = ANY ($2::bigint[]) AND @{primary} ORDER BY seq
