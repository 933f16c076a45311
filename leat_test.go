package leat_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/servicetest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

//leat:level 0
func TestMain(m *testing.M) { testenv.Main(m) }

// joined is a transaction of memoutbox.
type joined struct{ *memoutbox.Tx }

// memory is a store in memory, which all instances share.
func memory(t *testing.T) servicetest.Store {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	store := &meminbox.Store{}
	var mu sync.Mutex
	var effects []string
	return servicetest.Store{
		Outbox: func(*testing.T) leat.Outbox { return ob },
		Inbox: func(t *testing.T, policy inbox.Policy) leat.Inbox {
			t.Helper()
			in, err := meminbox.New("shop", meminbox.Config{
				Config: inbox.Config{OnFailure: policy, BusyDelay: inbox.NoDelay}, Store: store,
				Join: func(ctx context.Context) (meminbox.Joined, error) {
					tx, err := ob.Begin(ctx)
					return joined{tx}, err
				},
			})
			require.NoError(t, err)
			return in
		},
		Publish: func(ctx context.Context, _ leat.Outbox, msgs ...outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error { return ob.Enqueue(ctx, tx, msgs...) })
		},
		Write: func(ctx context.Context, effect string) error {
			meminbox.OnCommit(ctx, func() {
				mu.Lock()
				defer mu.Unlock()
				effects = append(effects, effect)
			})
			return nil
		},
		Effects: func(context.Context) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), effects...), nil
		},
		Redrive: servicetest.RedriveBy(meminbox.NewAdmin(store)),
	}
}

func TestService_Memory(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, memory)
}

// postgres is a database of its own, with a pool that all instances share.
func postgres(t *testing.T) (servicetest.Store, *testenv.Database) {
	t.Helper()
	db := testenv.Postgres(t)
	pool := db.Pool
	_, err := pool.Exec(t.Context(), "CREATE TABLE effects (what text NOT NULL)")
	require.NoError(t, err)
	operator, err := pginbox.NewAdmin(pool, pginbox.Config{})
	require.NoError(t, err)
	return servicetest.Store{
		Outbox: func(t *testing.T) leat.Outbox {
			t.Helper()
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			require.NoError(t, err)
			return ob
		},
		Inbox: func(t *testing.T, policy inbox.Policy) leat.Inbox {
			t.Helper()
			in, err := pginbox.New(pool, "shop", pginbox.Config{Config: inbox.Config{OnFailure: policy}})
			require.NoError(t, err)
			return in
		},
		Publish: func(ctx context.Context, ob leat.Outbox, msgs ...outbox.Message) error {
			own, _ := ob.(*pgoutbox.Outbox)
			return own.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return own.Enqueue(ctx, tx, msgs...) })
		},
		Write: func(ctx context.Context, effect string) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", effect)
			return err
		},
		Effects: func(ctx context.Context) ([]string, error) {
			rows, err := pool.Query(ctx, "SELECT what FROM effects")
			if err != nil {
				return nil, err
			}
			return pgx.CollectRows(rows, pgx.RowTo[string])
		},
		Redrive: servicetest.RedriveBy(operator),
	}, db
}

//leat:level 1
func TestService_PostgreSQL(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, func(t *testing.T) servicetest.Store {
		t.Helper()
		store, _ := postgres(t)
		return store
	})
}

// onSQL is a database of its own, with a *sql.DB that all instances share, and no pgx pool.
func onSQL(t *testing.T) servicetest.Store {
	t.Helper()
	store, env := postgres(t)
	db := env.SQL(t)
	store.Outbox = func(t *testing.T) leat.Outbox {
		t.Helper()
		ob, err := pgoutbox.NewSQL(db, pgoutbox.Config{})
		require.NoError(t, err)
		return ob
	}
	store.Inbox = func(t *testing.T, policy inbox.Policy) leat.Inbox {
		t.Helper()
		in, err := pginbox.NewSQL(db, "shop", pginbox.Config{Config: inbox.Config{OnFailure: policy}})
		require.NoError(t, err)
		return in
	}
	store.Publish = func(ctx context.Context, ob leat.Outbox, msgs ...outbox.Message) error {
		own, _ := ob.(*pgoutbox.Outbox)
		return own.InSQLTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return own.EnqueueSQL(ctx, tx, msgs...) })
	}
	store.Write = func(ctx context.Context, effect string) error {
		_, err := pginbox.SQLTx(ctx).ExecContext(ctx, "INSERT INTO effects VALUES ($1)", effect)
		return err
	}
	return store
}

//leat:level 1
func TestService_DatabaseSQL(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, onSQL)
}

// TestNew_Refuses: a configuration that cannot work names its field.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	in, err := meminbox.New("shop", meminbox.Config{})
	require.NoError(t, err)
	sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
	require.NoError(t, err)
	source, err := ob.DefaultSource()
	require.NoError(t, err)
	for field, cfg := range map[string]leat.Config{
		"Config.Outbox":  {},
		"Config.Sink":    {Inbox: in, Sink: sink},
		"Config.Source":  {Outbox: ob, Source: source},
		"Config.Relay":   {Outbox: ob, Relay: relay.Config{PageSize: 1}},
		"Config.KeyFunc": {Outbox: ob, KeyFunc: outbox.KeyFromMetadata},
		"PageSize":       {Outbox: ob, Sink: sink, Relay: relay.Config{PageSize: -1}},
	} {
		_, err := leat.New(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, field)
		require.ErrorContains(t, err, field)
	}
}

// TestRouter_NeedsAnInbox: without an inbox nothing runs, rather than twice.
func TestRouter_NeedsAnInbox(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{Outbox: ob})
	require.NoError(t, err)
	r, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	service.Router(r)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		select {
		case <-r.Running(): // it must not
			cancel()
		case <-ctx.Done():
		}
	}()
	err = service.Run(ctx)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "Config.Inbox")
}

// subscribed tells what its subscription ends with.
type subscribed struct {
	*gochannel.GoChannel

	until chan context.Context
}

// Subscribe implements message.Subscriber.
func (s subscribed) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.until <- ctx
	return s.GoChannel.Subscribe(ctx, topic)
}

// TestReady_WaitsForNobody: a router that is being closed waits for its handlers, and a probe does not.
func TestReady_WaitsForNobody(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("shop", meminbox.Config{})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{Inbox: in})
	require.NoError(t, err)
	broker := subscribed{gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{}), make(chan context.Context, 1)}
	router, began, goOn := service.Router(nil), make(chan struct{}), make(chan struct{})
	router.AddConsumerHandler("loyalty", "orders", broker, func(*message.Message) error {
		close(began)
		<-goOn
		return nil
	})
	ended, closed, answered := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { ended <- service.Run(t.Context()) }()
	require.NoError(t, broker.Publish("orders", message.NewMessage("order-1", nil)))
	<-began
	go func() { closed <- router.Close() }()
	<-(<-broker.until).Done() // the router is closing; it need not close subscribers whose context has ended
	go func() { answered <- service.Ready(t.Context()) }()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("Ready waits for a handler")
	}
	close(goOn)
	require.NoError(t, <-closed)
	require.NoError(t, <-ended)
}

// orderPlaced is an event of cqrs.
type orderPlaced struct{ Order string }

// TestRouter_CQRS: handlers that package cqrs adds take effect once.
func TestRouter_CQRS(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("shop", meminbox.Config{Config: inbox.Config{BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{Inbox: in})
	require.NoError(t, err)
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	done := make(chan string, 10)
	router := service.Router(nil)
	processor, err := cqrs.NewEventProcessorWithConfig(router.Router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return "orders", nil },
		SubscriberConstructor: func(cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return broker, nil
		},
		Marshaler: cqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	require.NoError(t, processor.AddHandlers(cqrs.NewEventHandler("loyalty", func(ctx context.Context, e *orderPlaced) error {
		meminbox.OnCommit(ctx, func() { done <- e.Order })
		return nil
	})))
	for _, order := range []string{"1", "1", "2"} {
		msg, err := cqrs.JSONMarshaler{}.Marshal(orderPlaced{order})
		require.NoError(t, err)
		msg.UUID = "order-" + order
		require.NoError(t, broker.Publish("orders", msg))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	require.ElementsMatch(t, []string{"1", "2"}, []string{<-done, <-done})
	cancel()
	require.NoError(t, <-ended)
	require.Empty(t, done)
}

// unmigrated is an outbox that cannot be migrated.
type unmigrated struct{ *memoutbox.Outbox }

func (unmigrated) Migrate(context.Context) error { return sql.ErrConnDone }

// TestRun_MigratesFirst: what cannot be migrated is named, and nothing else begins.
func TestRun_MigratesFirst(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{Outbox: unmigrated{ob}})
	require.NoError(t, err)
	err = service.Run(t.Context(), never{})
	require.ErrorIs(t, err, sql.ErrConnDone)
	require.EqualError(t, err, "leat: migrate the outbox: "+sql.ErrConnDone.Error())
}

// TestRun_NotMigrated: what to do is said once.
//
//leat:level 1
func TestRun_NotMigrated(t *testing.T) {
	t.Parallel()
	ob, err := pgoutbox.New(testenv.Postgres(t).Pool, pgoutbox.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{
		Outbox: ob, Sink: sink, NoMigrate: true, NoMaintenance: true, Relay: relay.Config{Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(t, err)
	err = service.Run(t.Context())
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	require.Regexp(t, `^leat: relay: leat: source is unusable: leat: schema is not migrated: outbox in "leat"."outbox" `+
		`is at version 0, needed is \d+ or later: call Migrate, or run leat migrate up$`, err.Error())
}

type never struct{}

func (never) Run(context.Context) error { return errors.New("it was started") }

// TestHandler: the probes say what a service is, and nothing else is served.
func TestHandler(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	service, err := leat.New(leat.Config{Outbox: ob})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/leat/", service.Handler())
	get := func(method, path string) int {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		return w.Code
	}
	require.Equal(t, http.StatusOK, get(http.MethodGet, "/leat/livez"))
	require.Equal(t, http.StatusServiceUnavailable, get(http.MethodGet, "/leat/readyz"))
	require.Equal(t, http.StatusNotFound, get(http.MethodGet, "/leat/secrets"))
	require.Equal(t, http.StatusMethodNotAllowed, get(http.MethodPost, "/leat/livez"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- service.Run(ctx, probing(func() int { return get(http.MethodGet, "/leat/readyz") }))
	}()
	require.NoError(t, <-done)
	cancel()
	require.Equal(t, http.StatusServiceUnavailable, get(http.MethodGet, "/leat/readyz"))
}

// probing ends once the service is ready.
type probing func() int

func (p probing) Run(ctx context.Context) error {
	for ctx.Err() == nil && p() != http.StatusOK {
	}
	return ctx.Err()
}

// TestLinksNothing: package leat links no client of a database, a broker or a monitoring system.
func TestLinksNothing(t *testing.T) {
	t.Parallel()
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	require.Contains(t, string(deps), "github.com/leat-go/leat/outbox/relay\n")
	for _, client := range []string{"database/sql\n", "jackc/pgx", "franz-go", "go-redis", "amqp091", "prometheus", "opentelemetry", "html/template"} {
		require.NotContains(t, string(deps), client)
	}
}
