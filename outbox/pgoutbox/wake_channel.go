package pgoutbox

import (
	"context"
	"encoding/hex"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// channel is the name of the channel on which the commits of an outbox are announced, at most 63
// bytes: PostgreSQL refuses longer ones.
func channel(schema, table string) string {
	const most = 63
	name := "leat/" + schema + "/" + table
	if len(name) <= most {
		return name
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	sum := hex.EncodeToString(h.Sum(nil))
	return strings.ToValidUTF8(name[:most-len(sum)-1], "") + "/" + sum
}

// notify announces on channel. The notification is sent at the commit of this statement, which is
// a separate transaction.
func notify(ctx context.Context, db execer, channel string) error {
	_, err := db.Exec(ctx, "SELECT pg_notify($1, '')", channel)
	return err
}

// listen starts to listen on channel.
func listen(ctx context.Context, conn *pgx.Conn, channel string) error {
	_, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	return err
}
