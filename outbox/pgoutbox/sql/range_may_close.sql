-- The last number of sequence $1, the highest one in the range, and whether a position
-- contradicts its database.
SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0), coalesce((SELECT max(seq) FROM {range}), 0),
       EXISTS (SELECT FROM @{_standing} WHERE problem IS NOT NULL)
WHERE @{primary}
