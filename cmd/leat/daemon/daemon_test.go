package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// source is an outbox in memory that refuses relays while it is told to.
type source struct {
	driver.Source

	refuses atomic.Bool
	checks  atomic.Int64
}

func (s *source) Check(ctx context.Context) error {
	s.checks.Add(1)
	if s.refuses.Load() {
		return fmt.Errorf("%w: the sequence went back", driver.ErrSourceUnusable)
	}
	return s.Source.Check(ctx)
}

// sink takes everything, unless it is out.
type sink struct {
	out  atomic.Bool
	sent atomic.Int64
}

func (s *sink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range results {
		if s.out.Load() {
			results[i] = outbox.Failed(outbox.FailureOutage, errors.New("connection refused"))
			continue
		}
		s.sent.Add(1)
	}
	return results
}

// lab is a daemon with two relays. The second can be made unusable.
type lab struct {
	t      *testing.T
	ob     [2]*memoutbox.Outbox
	second *source
	sink   *sink
	away   atomic.Bool
	d      *daemon.Daemon
	cancel context.CancelFunc
	ended  chan error
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newLab(t *testing.T, change func(*daemon.Config)) *lab {
	t.Helper()
	l := &lab{t: t, sink: &sink{}, ended: make(chan error, 1)}
	for i := range l.ob {
		ob, err := memoutbox.New(memoutbox.Config{})
		require.NoError(t, err)
		l.ob[i] = ob
	}
	l.second = &source{Source: l.ob[1].Source(memoutbox.SourceConfig{})}
	cfg := daemon.Config{
		Relays: []daemon.Relay{
			{Outbox: "first", Group: "default", Source: l.ob[0].Source(memoutbox.SourceConfig{}), Sink: l.sink, Config: relay.Config{Logger: quiet()}},
			{Outbox: "second", Group: "default", Source: l.second, Sink: l.sink, Config: relay.Config{Logger: quiet()}},
		},
		Databases: []daemon.Database{{Name: "db", Ping: func(context.Context) error {
			if l.away.Load() {
				return errors.New("refused")
			}
			return nil
		}}},
		Logger: quiet(),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	l.d, err = daemon.New(cfg)
	require.NoError(t, err)
	return l
}

func (l *lab) run() {
	ctx, cancel := context.WithCancel(l.t.Context())
	l.cancel = cancel
	go func() { l.ended <- l.d.Run(ctx) }()
}

func (l *lab) stop() {
	l.cancel()
	require.NoError(l.t, <-l.ended)
}

func (l *lab) enqueue(i int, key string) {
	l.t.Helper()
	require.NoError(l.t, l.ob[i].InTx(l.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return l.ob[i].Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: key, Payload: []byte("x")})
	}))
}

func (l *lab) state(i int) daemon.PartStatus { return l.d.Status().Parts[i] }

// Whoever may enqueue chooses topics: the status names a hundred of those that are out, and counts all.
func TestStatus_ManyTopicsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.sink.out.Store(true)
		require.NoError(t, l.ob[0].InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
			messages := make([]outbox.Message, 250)
			for i := range messages {
				messages[i] = outbox.Message{Topic: fmt.Sprintf("hostile-%03d", i), Payload: []byte("x")}
			}
			return l.ob[0].Enqueue(ctx, tx, messages...)
		}))
		l.run()
		elapse(t, time.Minute)
		is := l.state(0)
		require.Equal(t, daemon.StateDegraded, is.State)
		require.Len(t, is.Out, 100)
		require.Equal(t, "hostile-000", is.Out[0])
		require.Contains(t, is.Reason, `topic "hostile-000" and 249 more are out: `)
		require.Contains(t, is.Reason, "connection refused")
		l.stop()
	})
}

// A relay whose source is unusable fails readiness, the others go on, and nothing restarts the
// process. It begins within a second or so when an operator has acted.
func TestUnusable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		require.ErrorContains(t, l.d.Ready(), "not checked yet")
		l.second.refuses.Store(true)
		l.run()
		elapse(t, time.Second)
		require.ErrorIs(t, l.d.Ready(), driver.ErrSourceUnusable)
		require.NoError(t, l.d.Live())
		require.Equal(t, daemon.StateDown, l.state(1).State)
		require.Contains(t, l.state(1).Reason, "the sequence went back")
		require.Equal(t, daemon.StateLeader, l.state(0).State)
		l.enqueue(0, "a")
		elapse(t, time.Minute)
		require.EqualValues(t, 1, l.sink.sent.Load())
		require.InDelta(t, 61, l.second.checks.Load(), 10, "every second")

		l.second.refuses.Store(false)
		elapse(t, 2*time.Second)
		require.NoError(t, l.d.Ready())
		require.Equal(t, daemon.StateOK, l.d.Status().State)
		l.stop()
		require.ErrorContains(t, l.d.Ready(), "stopping")
		require.Equal(t, daemon.StateStopping, l.d.Status().State)
		require.ErrorIs(t, l.d.Run(t.Context()), outbox.ErrAlreadyRunning)
	})
}

// A database that is unavailable for more than 30 s fails readiness, and never liveness; a
// destination that is out fails neither.
func TestOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.run()
		elapse(t, time.Second)
		require.NoError(t, l.d.Ready())
		l.away.Store(true)
		elapse(t, 24*time.Second)
		require.NoError(t, l.d.Ready())
		elapse(t, 12*time.Second)
		require.ErrorContains(t, l.d.Ready(), "database db: refused")
		require.NoError(t, l.d.Live())
		require.Equal(t, daemon.StateDown, l.d.Status().State)
		l.away.Store(false)
		elapse(t, 6*time.Second)
		require.NoError(t, l.d.Ready())

		l.sink.out.Store(true)
		l.enqueue(0, "a")
		elapse(t, time.Hour)
		require.Equal(t, daemon.StateDegraded, l.state(0).State)
		require.Equal(t, []string{"orders"}, l.state(0).Out)
		out := l.d.Breakers(l.state(0).Store, l.state(0).Group)
		require.Len(t, out, 1)
		require.Equal(t, "orders", out[0].Topic)
		require.Empty(t, l.d.Breakers(l.state(0).Store, "another"))
		require.Contains(t, l.state(0).Reason, "connection refused")
		require.Equal(t, daemon.StateDegraded, l.d.Status().State)
		require.NoError(t, l.d.Ready())
		require.NoError(t, l.d.Live())
		l.sink.out.Store(false)
		elapse(t, time.Minute)
		require.Equal(t, daemon.StateLeader, l.state(0).State)
		require.EqualValues(t, 1, l.sink.sent.Load())
		require.Empty(t, l.d.Breakers(l.state(0).Store, l.state(0).Group))
		l.stop()
	})
}

// A relay that is stuck, though its destination answers and the database too, fails
// liveness; if the database is unavailable, it does not.
func TestStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuses, err := relay.Func(func(context.Context, outbox.Record) error { return errors.New("no") }, relay.FuncConfig{})
		require.NoError(t, err)
		l := newLab(t, func(cfg *daemon.Config) {
			cfg.Relays[0].Sink = refuses
			cfg.Relays[0].Config.Policies = []relay.Policy{{Action: relay.Block}}
			cfg.Relays[0].Config.SLO = time.Minute
		})
		l.run()
		l.enqueue(0, "a")
		elapse(t, 5*time.Minute)
		require.ErrorIs(t, l.d.Live(), relay.ErrStuck)
		require.Equal(t, daemon.StateDown, l.state(0).State)
		l.away.Store(true)
		elapse(t, time.Minute)
		require.NoError(t, l.d.Live(), "a new process could do no more")
		l.stop()
	})
}

// The probes match exactly, and by GET and HEAD only; all else is the handler's.
func TestProbes(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(cfg *daemon.Config) {
		cfg.Listen = "127.0.0.1:0"
		cfg.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	})
	ask := func(method, path string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, http.NoBody)
		r.Host = "localhost"
		l.d.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, ask("GET", "/livez?verbose"))
	require.Equal(t, 503, ask("GET", "/readyz"))
	require.Equal(t, 200, ask("HEAD", "/statusz"))
	require.Equal(t, 405, ask("POST", "/livez"))
	for _, path := range []string{"/livez/", "/livez/x", "/x/livez", "//livez", "/livez%2F", "/%6civez", "/Livez", "/livez;", "/api/readyz", "/"} {
		require.Equal(t, 401, ask("GET", path), path)
	}
}

// The service manager hears that the daemon is ready, lives, reloads and stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer listener.Close()
	hear := func() string {
		buffer := make([]byte, 1000)
		n, err := listener.Read(buffer)
		require.NoError(t, err)
		return string(buffer[:n])
	}
	l := newLab(t, func(cfg *daemon.Config) { cfg.NotifySocket, cfg.Watchdog = path, time.Hour })
	l.run()
	require.Contains(t, hear(), "READY=1")
	require.Equal(t, "WATCHDOG=1", hear())
	require.ErrorIs(t, l.d.Reload(func() error { return io.EOF }), io.EOF)
	require.Equal(t, "RELOADING=1", hear())
	require.Equal(t, "READY=1", hear())
	l.stop()
	require.Equal(t, "STOPPING=1", hear())
}

func TestFromSystemd(t *testing.T) {
	t.Parallel()
	says := func(pairs ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1], true
				}
			}
			return "", false
		}
	}
	socket, every, err := daemon.FromSystemd(says("NOTIFY_SOCKET", "@x", "WATCHDOG_USEC", "30000000"))
	require.NoError(t, err)
	require.Equal(t, "@x", socket)
	require.Equal(t, 30*time.Second, every)
	_, every, err = daemon.FromSystemd(says("WATCHDOG_USEC", "30000000", "WATCHDOG_PID", strconv.Itoa(1)))
	require.NoError(t, err)
	require.Zero(t, every, "it is another process that is watched")
	_, _, err = daemon.FromSystemd(says("WATCHDOG_USEC", "soon"))
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// A Config that cannot work is refused, and the field is named.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	good := daemon.Relay{Outbox: "a", Group: "g", Source: l.second, Sink: l.sink}
	for want, cfg := range map[string]daemon.Config{
		"Relays, Maintenance": {},
		"Relays[0] = /g":      {Relays: []daemon.Relay{{Group: "g", Source: l.second, Sink: l.sink}}},
		"Relays[1] = a/g":     {Relays: []daemon.Relay{good, good}},
		"source":              {Relays: []daemon.Relay{{Outbox: "a", Group: "g", Sink: l.sink}}},
		"Maintenance[0]":      {Maintenance: []daemon.Maintenance{{}}},
		"Databases[0]":        {Relays: []daemon.Relay{good}, Databases: []daemon.Database{{Name: "x"}}},
		"Listen = 8470":       {Relays: []daemon.Relay{good}, Listen: "8470"},
		"MetricsListen":       {Relays: []daemon.Relay{good}, MetricsListen: ":9470"},
		"Handler":             {Relays: []daemon.Relay{good}, Handler: http.NotFoundHandler()},
		"RetryUnusable = -1":  {Relays: []daemon.Relay{good}, RetryUnusable: -1},
		"Watchdog = -1":       {Relays: []daemon.Relay{good}, Watchdog: -1},
	} {
		_, err := daemon.New(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, want)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, daemon.Run(t.Context(), daemon.Config{Relays: []daemon.Relay{good}, Listen: "127.0.0.1:99999"}), "listener of probes")
}

// elapse lets d of virtual time pass.
func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	if err := wait.For(t.Context(), d); err != nil {
		t.Error(err)
	}
}
