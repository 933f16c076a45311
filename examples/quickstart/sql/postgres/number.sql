SELECT seq FROM leat.outbox WHERE id = $1
