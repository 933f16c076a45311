package readme_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/examples/readme"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }

// lines is a writer that hands on what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default: // nobody looks any more
	}
	return len(b), nil
}

// A3: the README's code, copied as it stands, says what is wrong where Kafka is fresh
// and has no topic, and where there is no Kafka.
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_ReadmeTellsWhatIsWrong(t *testing.T) {
	fresh := testenv.Fake(t)
	for name, c := range map[string]struct {
		brokers []string
		want    string
	}{
		"topic is missing": {fresh.Brokers, "orders"},
		"broker is away":   {[]string{nobody(t)}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			out := make(lines, 1000)
			before := slog.Default()
			t.Cleanup(func() { slog.SetDefault(before) })
			slog.SetDefault(slog.New(slog.NewTextHandler(out, nil)))
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			url := testenv.Postgres(t).URL
			pool, err := pgxpool.New(ctx, url)
			require.NoError(t, err)
			defer pool.Close()
			_, err = pool.Exec(ctx, "CREATE TABLE orders (id text PRIMARY KEY, total int)")
			require.NoError(t, err)
			require.NoError(t, readme.Publish(ctx, url, "o-1", 7, []byte("placed")))
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			require.NoError(t, err)

			ended := make(chan error, 1)
			go func() { ended <- readme.Relay(ctx, ob, c.brokers) }()
			said := func() string {
				for {
					select {
					case line := <-out:
						if strings.Contains(line, c.want) {
							return line
						}
					case err := <-ended:
						return fmt.Sprint("the relay has ended: ", err)
					case <-ctx.Done():
						return "nothing"
					}
				}
			}()
			require.Contains(t, said, "level=WARN")
			require.Contains(t, said, c.want)
			stop()
			require.NoError(t, <-ended)
		})
	}
}

// nobody returns an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
