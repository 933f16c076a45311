-- Whether rows of the table $1 are passed on, by triggers that are there and fire.
SELECT EXISTS (
    SELECT FROM pg_trigger
    WHERE tgrelid = to_regclass($1) AND tgname = 'leat_2_enqueue' AND tgenabled <> 'D')
WHERE @{primary}
