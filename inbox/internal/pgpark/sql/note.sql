INSERT INTO @{_notes} (consumer, id, fingerprint, reply) VALUES ($1::smallint, $2::uuid, $3::bytea, $4::bytea)
ON CONFLICT (consumer, id) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, reply = EXCLUDED.reply, at = EXCLUDED.at
