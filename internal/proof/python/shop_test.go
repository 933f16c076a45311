package python_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// patience limits how long a shop may take on a busy machine.
const patience = 3 * time.Minute

// shop is a database, a topic, and the history files of its processes.
type shop struct {
	t          *testing.T
	ctx        context.Context //nolint:containedctx // of the test
	db         *testenv.Database
	python     string
	url        string // as a role that has no right but to the functions
	topic, dir string
	files      atomic.Int64
}

func newShop(t *testing.T) *shop {
	t.Helper()
	python := testenv.Python(t, "psycopg")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	kafka := testenv.Kafka(t)
	s := &shop{t: t, ctx: ctx, python: python, db: testenv.Postgres(t), topic: kafka.Topic(t, "accounts", 2), dir: t.TempDir()}
	ob, err := pgoutbox.New(s.db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(ctx))
	in, err := pginbox.New(s.db.Pool, "leat", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(ctx))
	schema, err := os.ReadFile(filepath.Join("testdata", "shop.sql"))
	require.NoError(t, err)
	s.exec(string(schema))
	s.role()
	s.startDaemon(kafka.Brokers)
	return s
}

func (s *shop) exec(sql string) {
	s.t.Helper()
	_, err := s.db.Pool.Exec(s.ctx, sql)
	require.NoError(s.t, err)
}

// role creates a role that may use its own tables and call the functions.
func (s *shop) role() {
	s.t.Helper()
	name := "leat_test_" + uuid.NewString()
	role := pgx.Identifier{name}.Sanitize()
	const times = "timestamptz, timestamptz"
	s.exec(`CREATE ROLE ` + role + `; GRANT USAGE ON SCHEMA leat TO ` + role + `;
		GRANT SELECT, INSERT, UPDATE ON account, book, ledger, effects, orders TO ` + role + `;
		GRANT EXECUTE ON FUNCTION leat.outbox_enqueue(jsonb), leat.outbox_enqueue(` + strings.Repeat("text, ", 5) + `jsonb, ` + times + `),
			leat.inbox_register(text), leat.inbox_claim(text, text) TO ` + role)
	s.t.Cleanup(func() {
		_, err := s.db.Pool.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(s.t, err)
	})
	s.url = s.db.URL + "&options=-c%20role%3D" + name
}

// file returns the path of a new history file.
func (s *shop) file(name string) string {
	return filepath.Join(s.dir, strconv.FormatInt(s.files.Add(1), 10)+"-"+name+".jsonl")
}

// script is a Python process.
type script struct {
	*exec.Cmd

	out    *bufio.Scanner
	stderr bytes.Buffer
}

func (s *shop) script(stdin io.Reader, args ...string) *script {
	s.t.Helper()
	p := &script{Cmd: exec.CommandContext(s.ctx, s.python, args...)}
	p.Stdin, p.Stderr = stdin, &p.stderr
	out, err := p.StdoutPipe()
	require.NoError(s.t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(s.t, p.Start())
	return p
}

// produce runs a producer of count transactions, and kills it after kill of them unless kill is 0.
func (s *shop) produce(name string, count, kill int, flags ...string) error {
	p := s.script(nil, append([]string{"producer.py", s.url, s.file(name), name, strconv.Itoa(count), s.topic}, flags...)...)
	for n := 1; p.out.Scan(); n++ {
		if n == kill {
			_ = p.Process.Kill()
		}
	}
	return s.ended(p, kill > 0)
}

// ended waits for the end of a process. If it was killed, its error is ignored.
func (s *shop) ended(p *script, killed bool) error {
	if err := p.Wait(); err != nil && !killed {
		return &failure{err, p.stderr.String()}
	}
	return nil
}

type failure struct {
	error

	stderr string
}

func (f *failure) Error() string { return f.error.Error() + ": " + f.stderr }

// consumer is a process to which messages are delivered.
type consumer struct {
	s     *shop
	flags []string

	p  *script
	in io.WriteCloser
}

func (c *consumer) start() {
	read, write, err := os.Pipe()
	require.NoError(c.s.t, err)
	c.p = c.s.script(read, append([]string{"consumer.py", c.s.url, c.s.file("consumer"), "books"}, c.flags...)...)
	require.NoError(c.s.t, read.Close())
	c.in = write
}

// deliver delivers a message until it may be acknowledged. If the process is killed in the middle, another
// one replaces it.
func (c *consumer) deliver(r *kgo.Record, kill bool) {
	t := c.s.t
	line, err := json.Marshal(map[string]string{"id": id(r), "payload": string(r.Value)})
	require.NoError(t, err)
	for acked := false; !acked; {
		_, err = c.in.Write(append(line, '\n'))
		require.NoError(t, err)
		if kill {
			kill = false
			require.NoError(t, c.p.Process.Kill())
			require.NoError(t, c.end(true))
			c.start()
			continue
		}
		if !c.p.out.Scan() {
			require.NoError(t, c.end(false))
			t.Fatal("the consumer ended before it acknowledged")
		}
		require.NoError(t, json.Unmarshal(c.p.out.Bytes(), &acked))
	}
}

func (c *consumer) end(killed bool) error {
	if err := c.in.Close(); err != nil {
		return err
	}
	return c.s.ended(c.p, killed)
}
