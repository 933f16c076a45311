// Command watch shows leat under load. It enqueues webhooks, and a daemon relays them into handlers behind
// an inbox. Prometheus scrapes the daemon and has the alert rules, and the dashboard shows it. Some
// messages fail for a while, and some are parked. The program tells a story: a topic breaks, alarms are
// raised, the topic is repaired, and everything goes on. It prints the addresses, and ends on Ctrl-C.
//
//	make watch
//	make watch ARGS='-for 90s'
//
// With -for it ends by itself. Its status is 1 if by then Prometheus has not scraped leat's metrics, has
// not loaded all rules or has not seen the story. It names the panels of the Grafana dashboard that have
// drawn nothing because nothing that they show has happened.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/internal/wait"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o := options{server: os.Getenv("LEAT_POSTGRES_URL"), to: os.Stdout}
	flag.DurationVar(&o.lasts, "for", 0, "end after this time, and check what Prometheus has; 0: until Ctrl-C")
	flag.StringVar(&o.rules, "rules", "docs/metrics/alerts.yml", "the alert rules")
	flag.Float64Var(&o.rate, "rate", 50, "messages a second")
	flag.Parse()
	if err := watch(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "watch:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// options are the flags.
type options struct {
	lasts time.Duration
	rules string
	rate  float64
	// server is the URL of a PostgreSQL server.
	server string
	to     io.Writer
	// also runs next to the shop if it is not nil.
	also func(ctx context.Context, s *shop)
}

var errOption = errors.New("a flag cannot work")

// watch runs everything until ctx or its time ends.
func watch(ctx context.Context, o options) (err error) {
	if o.rate <= 0 || o.rate > 10_000 || o.lasts < 0 {
		return fmt.Errorf("%w: -rate %v must be above 0 and at most 10000, -for %s not negative", errOption, o.rate, o.lasts)
	}
	rules, err := filepath.Abs(o.rules)
	if err != nil {
		return err
	}
	db, err := newDatabase(ctx, o.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.drop()) }()
	shop, err := newShop(ctx, db.pool)
	if err != nil {
		return err
	}
	work, end := context.WithCancel(ctx)
	defer end()
	group, work := errgroup.WithContext(work)
	group.Go(func() error { return shop.daemon.Run(work) })
	group.Go(func() error { return shop.enqueue(work, o.rate) })
	if o.also != nil {
		group.Go(func() error {
			o.also(work, shop)
			return nil
		})
	}
	group.Go(func() error {
		defer end()
		return shop.observe(work, rules, o)
	})
	return group.Wait()
}

// observe runs Prometheus and the story while the daemon runs.
func (s *shop) observe(ctx context.Context, rules string, o options) error {
	for len(s.daemon.Addresses()) < 2 { // the daemon listens soon after it has started
		if err := wait.For(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	addresses := s.daemon.Addresses()
	p, err := startPrometheus(ctx, addresses[1], rules)
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Fprintf(o.to, "dashboard   http://%s/\nmetrics     http://%s/metrics\nPrometheus  %s\nalerts      %s/alerts\n", addresses[0], addresses[1], p.graph(), p.url)
	fmt.Fprintln(o.to, "Alerts wait for as many seconds here as they have minutes.")
	told := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.story(ctx, p, o.to, func() { close(told) }) })
	group.Go(func() error {
		if o.lasts == 0 {
			fmt.Fprintln(o.to, "Ctrl-C ends it.")
			return p.wait(ctx)
		}
		if err := p.check(ctx, rules, o, told); err != nil {
			return err
		}
		return errWatched
	})
	if err := group.Wait(); !errors.Is(err, errWatched) {
		return err
	}
	return nil
}

// errWatched ends the program when its time is over.
var errWatched = errors.New("it was watched for long enough")
