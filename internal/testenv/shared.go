package testenv

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// shared is the environment of a test binary. Its servers start when the first
// test asks and stop in Main.
//
//nolint:gochecknoglobals // tests of a package have nothing else in common that could carry it
var shared = newEnv()

// Main runs a package's tests, stops the servers that they started, and fails
// the package when goroutines are left over. What servers hold is in memory if
// there is plenty of it, see [InMemory]:
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

// SideBySide has at least four tests of a package run at a time, if -test.parallel does
// not say how many: those that wait for servers most of the time leave two processors
// idle otherwise. It is called before [Main], which it leaves to the caller.
func SideBySide() error {
	return unlessGiven("test.parallel", max(4, runtime.GOMAXPROCS(0)))
}

// RapidChecks makes rapid try n cases of each property of a package, if -rapid.checks does
// not say how many: it tries a hundred otherwise. It is called before [Main].
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

// leftOver waits for goroutines that end by themselves, as some of other packages do that sleep
// before they see that they are closed: watermill-redisstream's reader for half a second. goleak
// alone waits for less than that.
func leftOver() (err error) {
	for range 4 {
		if err = goleak.Find(residents()...); err == nil {
			return nil
		}
	}
	return err
}

// residents are goroutines of packages of others that live as long as the
// process, whatever one closes.
func residents() []goleak.Option {
	return []goleak.Option{
		// sarama's metrics: one meter for the process, by way of watermill-kafka.
		goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"),
		// Watermill's suite for Pub/Subs: what stays of subscribers that it closes unread.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe.func2"),
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe.func3"),
		// Watermill's Deduplicator, which benchmarks have as a rival, and which has no Close.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/message/router/middleware.(*mapExpiringKeyRepository).cleanOutLoop"),
		// OpenCensus, by way of Google's clients: one worker for the process.
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"),
		// gorm's cache of prepared statements, which has no Close.
		goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"),
		// toxiproxy: what has no reader any more, once a connection broke with bytes on the way.
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
