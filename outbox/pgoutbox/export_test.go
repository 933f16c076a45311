package pgoutbox

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Channel is channel.
func Channel(schema, table string) string { return channel(schema, table) }

// ConnectOwn opens a connection as a relay of the source would.
func (s *Source) ConnectOwn(ctx context.Context) (*pgx.Conn, error) { return s.connect(ctx) }
