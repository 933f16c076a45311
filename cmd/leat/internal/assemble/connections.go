package assemble

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/outbox"
)

// takes is a database and the connections that the daemon takes of it.
type takes struct {
	open.Database

	work  open.Work
	shown int // connections of the dashboard
	name  string
}

const (
	// windows is how many connections the dashboard has to a database.
	windows = 4
	// askWithin is how long a server may take to report its number of connections.
	askWithin = 5 * time.Second
	// spareUnknown is how many relays of one database have a second connection if the server could not be
	// asked.
	spareUnknown = 8
)

// server is a server and the connections that the daemon takes of it.
type server struct {
	room        open.Room
	least, most int
	databases   []open.Database
}

// Connections asks the servers for their number of connections, logs how many of them the daemon takes, and
// bounds that number. It returns an error if the daemon needs more than its bound. A server that does not
// answer is skipped, since a daemon may start before its server.
func (a *Assembly) Connections(ctx context.Context, log *slog.Logger) error {
	servers := map[string]*server{}
	var names []string
	for _, t := range a.takes {
		bounded, cancel := context.WithTimeout(ctx, askWithin)
		room, err := t.Room(bounded)
		cancel()
		if err != nil {
			t.Spare(spareUnknown)
			log.WarnContext(ctx, "the number of connections that are left is not known", slog.String("database", t.name), slog.Any("error", err))
			continue
		}
		if room.Most == 0 {
			continue
		}
		s := servers[room.Server]
		if s == nil {
			s = &server{room: room}
			servers[room.Server] = s
			names = append(names, room.Server)
		}
		least, most := t.Need(t.work)
		s.least, s.most, s.databases = s.least+least+t.shown, s.most+most+t.shown, append(s.databases, t.Database)
	}
	for _, name := range names {
		if err := a.bound(ctx, log, name, servers[name]); err != nil {
			return err
		}
	}
	return nil
}

// bound keeps the daemon within its bound on s.
func (a *Assembly) bound(ctx context.Context, log *slog.Logger, name string, s *server) error {
	bound := a.most
	if bound == 0 {
		bound = s.room.Most / 2
	}
	if s.least > bound {
		return outbox.ConfigError("connections", bound, fmt.Sprintf(
			"the daemon takes %d connections of %s, which has %d for all its clients: set connections to %d, use fewer slots, or put outboxes into one database",
			s.least, name, s.room.Most, s.least))
	}
	most := min(s.most, bound)
	for _, db := range s.databases {
		db.Spare((most - s.least) / len(s.databases))
	}
	level := slog.LevelInfo
	if most > s.room.Left {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "connections of a database server",
		slog.String("server", name), slog.Int("at_most", most), slog.Int("left", s.room.Left), slog.Int("max_connections", s.room.Most))
	return nil
}
