-- Deletes the dead records that are selected, in any state: as erase_look.sql, of group $6. The
-- note has neither key nor errors. $7 actor, $8 reason.
WITH r AS (
    DELETE FROM @{_dead}
    WHERE relay_group = $6
      AND (key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR coalesce(id_text, id::text) = ANY ($3::text[]) OR headers ->> $4::text = $5::text)
    RETURNING *
), noted AS (
    INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, details)
    SELECT 'erase', $7, $8, relay_group, seq, coalesce(id_text, id::text), topic, '{"from": "dead"}' FROM r ORDER BY seq
)
SELECT seq, coalesce(id_text, id::text), topic, key, died_at FROM r ORDER BY seq
