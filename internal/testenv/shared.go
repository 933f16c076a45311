package testenv

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// shared is the environment of a test binary. Its servers start when a test first needs them, and
// stop in Main.
//
//nolint:gochecknoglobals // tests of a package have nothing else in common that could carry it
var shared = newEnv()

// Main runs a package's tests, stops the servers that they started, and fails the package if goroutines
// are left over. The servers keep their data in memory if there is plenty of it, see [InMemory]:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
//
// It does not return.
func Main(m *testing.M) {
	Supervise()
	InMemory()
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := leftOver(); err != nil {
			fmt.Fprintln(os.Stderr, "testenv: goroutines left over:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// SideBySide runs at least four tests of a package at a time, unless -test.parallel is set. Otherwise
// tests that mostly wait for servers would leave two processors idle. Call it before [Main].
func SideBySide() error {
	return unlessGiven("test.parallel", max(4, runtime.GOMAXPROCS(0)))
}

// RapidChecks makes rapid try n cases of each property in a package, unless -rapid.checks is set. Rapid's
// default is a hundred. Call it before [Main].
func RapidChecks(n int) error {
	return unlessGiven("rapid.checks", n)
}

// unlessGiven sets a flag that the command line has left at its default.
func unlessGiven(name string, value int) error {
	flag.Parse()
	f := flag.Lookup(name)
	if f == nil {
		return fmt.Errorf("testenv: there is no flag -%s: import the package that defines it", name)
	}
	if f.Value.String() != f.DefValue {
		return nil
	}

	return f.Value.Set(strconv.Itoa(value))
}

// leftOver waits for goroutines that end by themselves. Some goroutines of other packages sleep before
// they notice that they are closed: watermill-redisstream's reader for half a second, longer than goleak
// alone waits.
func leftOver() (err error) {
	for range 4 {
		if err = goleak.Find(residents()...); err == nil {
			return nil
		}
	}
	return err
}

// residents returns the options for goroutines of third-party packages that never end.
func residents() []goleak.Option {
	return []goleak.Option{
		// sarama's metrics, by way of watermill-kafka, have one meter per process.
		goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"),
		// Watermill's suite for Pub/Subs leaves goroutines of subscribers that it closes unread.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe.func2"),
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe.func3"),
		// Watermill's Deduplicator, a rival in benchmarks, has no Close.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/message/router/middleware.(*mapExpiringKeyRepository).cleanOutLoop"),
		// OpenCensus, by way of Google's clients, has one worker per process.
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"),
		// gorm's cache of prepared statements has no Close.
		goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"),
		// toxiproxy leaves goroutines without a reader when a connection breaks with bytes in flight.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
	}
}

// use returns a shared service and logs once where it came from.
func use(tb testing.TB, kind Kind) Service {
	tb.Helper()

	service, err := shared.service(context.Background(), kind)
	if err != nil {
		tb.Fatalf("%s is needed: %v", kind, err)
	}
	shared.slot(kind).announce.Do(func() { tb.Log("this run uses ", service.line()) })

	return service
}

// Long skips a test if -short is set, with a reason. With CI=true nothing may be skipped, and the test
// fails instead.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if testing.Short() {
		leaveOut(tb, "-short: "+reason)
	}
}

// Available fails a test whose server could not be started. If err is [ErrUnavailable], because the
// software is missing, the test is skipped; with CI=true it fails.
func Available(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrUnavailable) {
		leaveOut(tb, firstLine(err))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func leaveOut(tb testing.TB, reason string) {
	tb.Helper()
	if inCI() {
		tb.Fatalf("left out although CI=true: %s", reason)
	}
	tb.Skip(reason)
}

// logPatience bounds how long Await waits for a line.
const logPatience = time.Minute

// Log is a log on whose lines a test can wait. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	text  strings.Builder
	added chan struct{}
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{added: make(chan struct{})} }

// Logger returns a logger that writes to l.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.added)
	l.added = make(chan struct{})

	return l.text.Write(line)
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Forget empties l.
func (l *Log) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Await waits for a line that contains all of parts.
func (l *Log) Await(tb testing.TB, parts ...string) {
	tb.Helper()
	for late := time.After(logPatience); ; {
		l.mu.Lock()
		text, added := l.text.String(), l.added
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		}
		select {
		case <-added:
		case <-late:
			tb.Fatalf("the log has no line with %q in\n… %s", parts, text[max(0, len(text)-2000):])
		}
	}
}
