package mysqlbinlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/leat-go/leat/internal/logger"
)

// listen reads the binary log from its end on until an error or the end of ctx. It calls
// connected once the server has begun to send.
func (b *Bell) listen(ctx context.Context, connected func()) error {
	at, err := b.look(ctx)
	if err != nil {
		return err
	}
	d := &dialer{Dialer: net.Dialer{Timeout: b.connectTimeout()}}
	syncer := replication.NewBinlogSyncer(b.syncer(at.flavor, d.dial))
	defer func() {
		d.refuses.Store(ctx.Err() == nil)
		syncer.Close() // and so ends the session on the server, too
	}()
	stream, err := at.from(syncer)
	if err != nil {
		return err
	}
	t := transaction{tables: at.tables}
	for first := true; ; first = false {
		event, err := stream.GetEvent(ctx)
		if err != nil {
			return err
		}
		if first { // the name of the file, which is sent whether or not anything is written
			connected()
		}
		if t.committed(event) {
			b.ring()
		}
	}
}

// from starts reading. An error can also come with the first event.
func (s *start) from(syncer *replication.BinlogSyncer) (*replication.BinlogStreamer, error) {
	if s.gtid != nil {
		return syncer.StartSyncGTID(s.gtid)
	}
	return syncer.StartSync(s.file)
}

// dialer opens connections until refuses is set. The syncer ends its session by a number that
// it sends over a new connection. After an error another server may answer, where that number
// may belong to an unrelated session.
type dialer struct {
	net.Dialer

	refuses atomic.Bool
}

var errRefused = errors.New("leat: the connection was lost")

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.refuses.Load() {
		return nil, errRefused
	}
	return d.DialContext(ctx, network, address)
}

// defaultConnectTimeout bounds a connection if the DSN does not.
const defaultConnectTimeout = 10 * time.Second

func (b *Bell) connectTimeout() time.Duration {
	if b.server.Timeout > 0 {
		return b.server.Timeout
	}
	return defaultConnectTimeout
}

func (b *Bell) syncer(flavor string, dial client.Dialer) replication.BinlogSyncerConfig {
	id := b.cfg.ServerID
	if id == 0 {
		id = 1<<31 | rand.Uint32() //nolint:gosec // it is not secret
	}
	return replication.BinlogSyncerConfig{
		ServerID: id, Flavor: flavor, Localhost: "leat",
		Host: b.server.Addr, User: b.server.User, Password: b.server.Passwd, TLSConfig: b.server.TLS, Dialer: dial,
		HeartbeatPeriod: b.cfg.Heartbeat, ReadTimeout: 3 * b.cfg.Heartbeat,
		// Two replicas with the same number would end each other for ever, and the syncer would
		// resume where it was, while a bell starts at the end.
		DisableRetrySync: true, DiscardGTIDSet: true,
		EventCacheCount: 64, Logger: logger.Silent(),
		RowsEventDecodeFunc:            headerOnly,
		TableMapOptionalMetaDecodeFunc: func([]byte) error { return nil },
	}
}

// headerOnly leaves rows undecoded: a bell only needs their table.
func headerOnly(e *replication.RowsEvent, data []byte) error {
	_, err := e.DecodeHeader(data)
	return err
}
