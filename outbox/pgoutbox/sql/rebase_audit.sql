INSERT INTO @{_audit} (action, actor, reason, relay_group, details)
VALUES ('rebase', $2, $3, $1, pg_catalog.jsonb_build_object('keep_position', $4::boolean, 'start', $5::text, 'adopted', $6::bigint, 'left_out', $7::bigint))
